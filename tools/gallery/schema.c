#include "gallery/schema.h"

/* The Makefile writes the bytes of each file as numbers. */
static const unsigned char v1[] = {
#include "build/gallery/schema/1.sql.bytes"
};

static const struct {
    const unsigned char *bytes;
    size_t size;
} FILES[SCHEMA_VERSION] = {{v1, sizeof v1}};

void schema_text(text *t, int version) { text_add(t, FILES[version - 1].bytes, FILES[version - 1].size); }

void schema_script(text *t, int from) {
    for (int version = from + 1; version <= SCHEMA_VERSION; version++) {
        text_puts(t, "BEGIN;\n\n");
        schema_text(t, version);
        text_puts(t, "\nCOMMIT;\n");
    }
}
