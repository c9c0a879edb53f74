/* Keeps the models of a server while it runs: opens each at its first request (--lazy), loads and unloads what clients
   ask for, and reloads everything. Each time, a new service replaces the present one, which finishes its requests and
   is then closed. If something cannot be opened, nothing changes. */
#ifndef REID_TOOLS_KEEPER_H
#define REID_TOOLS_KEEPER_H

#include "server/service.h"

typedef struct keeper keeper;

typedef struct keeper_request {
    service_request r; /* `wanted` and `keeper` are filled in here; what it points to must outlive the keeper */
    int lazy;          /* 1: models are opened at their first request; to make room, idle ones are closed */
    int control;       /* 1: clients may load and unload models */
    /* Makes new requests go to this service, at the latest when it returns. The functions below call it, on the owner's
       thread. */
    void (*use)(service *s, void *user);
    void (*wake)(void); /* ends the sleep of the owner's thread; called by any thread */
    void *user;
} keeper_request;

/* The following functions are for the thread that owns it. */

/* Opens the models, without calling `use`. NULL after saying what is wrong. */
keeper *keeper_open(const keeper_request *r);
/* No job may be running. NULL is allowed. */
void keeper_close(keeper *k);
/* The present service. */
service *keeper_now(const keeper *k);

/* Handles the calls that have arrived, and closes services whose requests have ended. */
void keeper_work(keeper *k);
/* 1 if work waits until requests have ended. Their end does not wake the owner, so it has to call keeper_work again. */
int keeper_waits(const keeper *k);
/* 1 if services before the present one still have requests. */
int keeper_has_old(const keeper *k);
/* Reads everything again. Returns 0 after saying what is wrong; then nothing has changed. There must be no old
   services. */
int keeper_reload(keeper *k);

/* service_stop and service_give_up for all its services. */
void keeper_stop(keeper *k);
void keeper_give_up(keeper *k);

#endif
