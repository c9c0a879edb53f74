#include "server/guide.h"

#include "report/page_fill.h"

#include <string.h>

static const unsigned char css[] = {
#include "build/server/guide.css.bytes"
};
static const unsigned char html[] = {
#include "build/server/guide.html.bytes"
};
static const unsigned char openapi[] = {
#include "build/server/openapi.json.bytes"
};
static const page_markup HTML = {html, sizeof html};

/* --- examples ----------------------------------------------------------------------------------------------------- */

typedef struct example {
    const char *title, *about, *options, *path;
    int open;    /* 1: needs no token */
    int gallery; /* 1: needs one */
} example;

static const example EXAMPLES[] = {
    {"Embed an image", "The answer is JSON. Images may be JPEG, PNG, WebP, TIFF, BMP, TGA or PNM.",
     "--data-binary @photo.jpg", "/embed", 0, 0},
    {"Embed boxes", "Each box is x, y, width and height in pixels of the upright image.",
     "--data-binary @photo.jpg", "/embed?box=0,0,40,40&box=10,10,30,30", 0, 0},
    {"Embed several images", "A form may have any number of them, as parts called file.",
     "-F file=@photo.jpg -F file=@photo.jpg", "/embed", 0, 0},
    {"Find the best individuals", "Their templates in the gallery are most similar to the image.",
     "--data-binary @photo.jpg", "/match?top=3", 0, 1},
    {"Use the Open Inference Protocol", "Clients of Triton and KServe can connect; this is a model’s metadata.", "",
     "/v2/models/{model}", 0, 0},
    {"Monitor it", "Prometheus reads the metrics. /livez and /readyz are for probes.", "", "/metrics", 0, 0},
    {"Check that it takes requests", "Probes need no token.", "", "/readyz", 1, 0},
};

/* A Host header comes from the client, and what it contains is copied into a shell. */
static int is_host(const char *s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]";
    size_t n = s ? strlen(s) : 0;
    return n > 0 && n <= 255 && s[0] != '-' && strspn(s, letters) == n;
}

/* Writes a path with the first model's name. */
static void add_path(text *t, const guide *g, const char *path) {
    const char *place = strstr(path, "{model}");
    text_add(t, path, place ? (size_t)(place - path) : strlen(path));
    if (place) text_puts(t, g->s ? g->s->names[0] : "MODEL");
}

static void add_command(text *t, const guide *g, const example *e) {
    text_puts(t, "curl -s ");
    if (g->tcp && g->tokens && !e->open) text_puts(t, "-H \"Authorization: Bearer $REID_TOKEN\" ");
    if (!g->tcp) text_puts(t, "--unix-socket \"$XDG_RUNTIME_DIR/reid.sock\" ");
    if (*e->options) text_printf(t, "%s ", e->options);
    text_printf(t, "'%s://%s", g->tls ? "https" : "http", g->tcp && is_host(g->host) ? g->host : "localhost");
    add_path(t, g, e->path);
    text_puts(t, "'");
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static const char *gallery_words(const service *s) {
    return s->shared->has_gallery ? "This server has a gallery." : "This server has no gallery.";
}

static void add_model(text *t, const service *s, int index) {
    const reid_info *info = s->model[index] ? s->model[index]->info : NULL;
    page_values v = {TEXT_INIT};
    page_set(&v, "name", "%s", s->names[index]);
    page_set(&v, "network", "%s", info ? info->network : "not open");
    page_set(&v, "preset", "%s", info ? info->preset : "");
    if (info) page_set(&v, "floats", "%d", info->dim);
    else page_set(&v, "floats", "%s", "");
    page_set(&v, "device", "%s", info ? info->device : "");
    page_set(&v, "precision", "%s", info ? info->precision : "");
    page_set(&v, "fingerprint", "%s", info ? info->fingerprint : "");
    page_fill(t, &HTML, "model", &v);
}

static void add_models(text *t, const service *s) {
    page_values v = {TEXT_INIT};
    page_fill(t, &HTML, "models", NULL);
    for (int i = 0; i < s->count; i++) add_model(t, s, i);
    page_set(&v, "gallery", "%s", gallery_words(s));
    page_fill(t, &HTML, "models end", &v);
}

static void add_example(text *t, const guide *g, const example *e) {
    text command = TEXT_INIT;
    page_values v = {TEXT_INIT};
    if (e->gallery && g->s && !g->s->shared->has_gallery) return;
    add_command(&command, g, e);
    page_set(&v, "title", "%s", e->title);
    page_set(&v, "about", "%s", e->about);
    page_set(&v, "command", "%s", text_failed(&command) ? "" : command.s);
    if (text_failed(&command)) text_no_memory(t);
    page_fill(t, &HTML, "example", &v);
    text_free(&command);
}

static void add_body(text *t, const guide *g) {
    text token = TEXT_INIT;
    page_values v = {TEXT_INIT};
    if (g->tcp && g->tokens) page_fill(&token, &HTML, "token", NULL);
    page_set(&v, "version", "%s", g->s ? reid_version_string() : "");
    page_set(&v, "token", "%s", token.len ? token.s : "");
    page_fill(t, &HTML, "body", &v);
    text_free(&token);
}

void guide_page(text *t, const guide *g) {
    page_fill(t, &HTML, "head", NULL);
    text_add(t, (const char *)css, sizeof css);
    add_body(t, g);
    for (size_t i = 0; i < sizeof EXAMPLES / sizeof *EXAMPLES; i++) add_example(t, g, &EXAMPLES[i]);
    if (g->s) add_models(t, g->s);
    page_fill(t, &HTML, "end", NULL);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void list_models(text *t, const service *s) {
    text_puts(t, "\nM is one of:\n");
    for (int i = 0; i < s->count; i++) {
        const reid_info *info = s->model[i] ? s->model[i]->info : NULL;
        text_puts(t, "  ");
        text_visible(t, s->names[i]);
        if (!info) text_puts(t, "  not open\n");
        if (!info) continue;
        text_printf(t, "  %s, %s, %d float%s, %s %s, fingerprint %s\n", info->network, info->preset, info->dim,
                    plural((size_t)info->dim), info->device, info->precision, info->fingerprint);
    }
    text_printf(t, "%s\n", gallery_words(s));
}

void guide_text(text *t, const guide *g) {
    text_printf(t, "reid %s\n\n", g->s ? reid_version_string() : "serve");
    text_puts(t, "POST /embed?box=x,y,w,h     an image as the body, or a form with parts called file: its embedding, "
                 "or one for each box\n"
                 "POST /match                the same: the best identities in the gallery\n"
                 "POST /v2/models/M/infer    the Open Inference Protocol: "
                 "input image or pixels, output embedding\nGET  /v2, /v2/health/live, /v2/health/ready, "
                 "/v2/models/M[/ready|/config|/stats], /v2/models/stats\n"
                 "POST /v2/repository/index  the models and their states; /v2/repository/models/M/load and /unload: if "
                 "allowed\n"
                 "GET  /livez, /readyz       for probes\n"
                 "GET  /metrics              for Prometheus\n"
                 "GET  /openapi.json         all paths, parameters and answers (OpenAPI 3.1)\n");
    if (g->s) list_models(t, g->s);
}

void guide_openapi(text *t) { text_add(t, (const char *)openapi, sizeof openapi); }
