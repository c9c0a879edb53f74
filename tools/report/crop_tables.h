/* The individuals and crops of reid track as tables for R and spreadsheets: CSV as in RFC 4180, in UTF-8. */
#ifndef REID_TOOLS_CROP_TABLES_H
#define REID_TOOLS_CROP_TABLES_H

#include "groups/clusters.h"

/* How the tables begin. */
#define CROP_TABLE_START "id,photo,camera,date,time,"
#define INDIVIDUAL_TABLE_START "individual,name,crops,tracks,boxes,"

/* A row per crop: id, photo (or video), camera, date, time (by the camera's clock; of a video the time since its
   beginning), x, y, width, height (of the box, in pixels), score (the detector's), track, individual, name, similarity
   (mean score with the other crops of the individual), in_doubt ("yes" if the individual may be the same as another
   one). c: NULL, here and below, if there are no crops. */
void crop_table(const crops *c, const clusters *found, text *t);

/* A row per individual: individual, name, crops, tracks, boxes (the detector's, in these tracks), cameras, first_date,
   first_time, last_date, last_time, similarity (the lowest of its crops), in_doubt, may_be (the individual that it may
   be the same as), example (a crop). */
void individual_table(const crops *c, const clusters *found, text *t);

#endif
