/* Turns the INPUT arguments (files, folders, lists on stdin) and boxes into the list of rows. */
#ifndef REID_TOOLS_COLLECT_H
#define REID_TOOLS_COLLECT_H

#include "pictures/boxes.h"
#include "pictures/inputs.h"

typedef struct input_request {
    char *const *operands;
    int operand_count;
    int nul_list;    /* the list on stdin is separated by zero bytes */
    box_file boxes;  /* path NULL: whole images */
} input_request;

/* Expands the operands in their order. Returns 0 after reporting an error; free the list in any case. */
int inputs_collect(inputs *list, const input_request *r);

#endif
