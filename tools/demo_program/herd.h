/* The animals that the demo draws, deer from the side that differ in their coats, and the places where they stand. A
   coat is fixed to the animal. All random numbers come from hashes, so they are the same on every machine. */
#ifndef REID_TOOLS_HERD_H
#define REID_TOOLS_HERD_H

#include <stdint.h>

typedef struct color { double r, g, b; } color;
typedef struct point { double x, y; } point;

color blend(color a, color b, double t); /* a at 0, b at 1 */
color times(color a, double k);
unsigned char level(double v);           /* 0 … 1 to 0 … 255 */

/* ---- random numbers ---------------------------------------------------------------------------------------------- */
double unit(uint64_t z); /* 0 … 1, depends on z alone */
/* Returns the next number in low … high. */
double between(uint64_t *state, double low, double high);
uint64_t cell(int x, int y, uint64_t seed);
/* Value noise, 0 … 1, features about one unit across. */
double noise(double x, double y, uint64_t seed);

/* ---- the herd ---------------------------------------------------------------------------------------------------- */
typedef enum pattern { SPOTS, BARS, BANDS, BRINDLE, CHECKS, PATCHES, NET } pattern;

typedef struct deer {
    char name[12];
    int enrolled;
    color coat, mark;   /* the coat's colour and the pattern's colour, 0 … 1 */
    pattern kind;
    double size;        /* of the pattern, in body lengths */
    double cover;       /* the share of the coat that the pattern covers, 0 … 1 */
    int antlers, socks; /* socks: the lower legs have the pattern's colour */
} deer;

enum { DEER = 16 };
extern const deer herd[DEER];

/* Returns the seed of a coat; deer `who` has the same coat in all images of a seed. */
uint64_t coat_of(int who, uint64_t seed);

/* ---- the animal: tapered strokes, front to back, in body lengths; x towards the head, y up ----------------------- */
typedef enum skin { COAT, SOCK, HORN, DARK } skin;

typedef struct stroke {
    point a, b;
    double ra, rb;
    skin skin;
    double shade;     /* far legs are darker */
    point low, high;  /* a box around it */
    double per_length; /* 1 / length² */
} stroke;

#define STROKES 40

typedef struct body {
    stroke part[STROKES];
    int count;
} body;

/* Builds the animal in one pose. neck: 0 grazing … 1 upright; step: legs, -1 … 1. */
void pose(body *d, const deer *who, double neck, double step);

/* Sets the animal's colour at p; returns 0 if p is outside the animal. */
int paint_deer(const body *d, const deer *who, point p, uint64_t coat_seed, color *out);

/* ---- where it stands --------------------------------------------------------------------------------------------- */
typedef struct place { color sky, ground, detail; double trees; } place;

enum { PLACES = 6 };
extern const place places[PLACES];

/* x: 0 … 1 across; y: 0 top … 1 bottom. */
color paint_place(const place *w, double x, double y, double horizon, uint64_t seed);

#endif
