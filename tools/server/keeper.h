/* Keeps the models of a server while it runs: opens those of which a request is the first, loads and unloads what
   clients ask for, and reads everything anew. Each time a new service takes the place of the present one, which
   finishes its requests and is closed after them; what cannot be opened changes nothing. */
#ifndef REID_TOOLS_KEEPER_H
#define REID_TOOLS_KEEPER_H

#include "server/service.h"

typedef struct keeper keeper;

typedef struct keeper_request {
    service_request r; /* `wanted` and `keeper` are filled in here; what it points to must outlive the keeper */
    int lazy;          /* 1: models are opened at their first request; to make room, idle ones are closed */
    int control;       /* 1: clients may load and unload models */
    /* From its return on, new requests must go to this service. Called by the functions for the owner's thread. */
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

/* Handles the calls that have come, and closes services whose requests have ended. */
void keeper_work(keeper *k);
/* 1 if there is work that waits for the end of requests, of which nothing wakes the owner. */
int keeper_waits(const keeper *k);
/* 1 if services before the present one still have requests. */
int keeper_has_old(const keeper *k);
/* Reads everything anew. Returns 0 after saying what is wrong, and nothing has changed then. There must be no old
   services. */
int keeper_reload(keeper *k);

/* service_stop and service_give_up for all its services. */
void keeper_stop(keeper *k);
void keeper_give_up(keeper *k);

#endif
