/* The library is the one that the header was made for, and knows its networks. */
#include <reid.h>

#include <stdio.h>

int main(void) {
    printf("reid %s, first network %s\n", reid_version_string(), reid_network_name(0));
    return reid_version() != REID_VERSION;
}
