/* t_detections.c: detections for videos in every supported format: boxes, their owners, and the message for each kind
   of invalid file.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/pictures/t_detections.c tools/pictures/detections.c
      tools/pictures/detection_list.c tools/pictures/detections_text.c tools/pictures/detections_json.c
      tools/pictures/detections_coco.c tools/pictures/photos.c tools/pictures/paths.c tools/pictures/inputs.c
      tools/pictures/exif.c tools/pictures/jpeg.c tools/pictures/stated_size.c tools/pictures/webp.c
      tools/pictures/tiff.c tools/base/library.c
      tools/base/when.c tools/base/csv.c tools/base/json.c tools/base/source.c tools/base/files.c
      tools/base/replace.c tools/base/file_kind.c tools/base/text.c tools/base/memory.c tools/base/say.c
      tools/base/clock.c tools/base/unicode.c tools/base/random.c tools/base/spelling.c
      -o build/t_detections -lcmocka -lm -lpthread -ldl */
#include "pictures/detections.h"
#include "../../lib/test_says.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Reads a text in a block of its exact size, so that a sanitizer reports a read beyond it. */
static int read_text(detections *d, const detections_request *r, const char *file, text *why) {
    text t = {malloc(strlen(file) + 1), strlen(file), strlen(file) + 1};
    memcpy(t.s, file, t.len + 1);
    int good = detections_parse(d, r, &t, why);
    free(t.s);
    return good;
}

static const detections_request usual = {.path = "file", .video = "films/v.mp4", .only = 1, .first = -1,
                                         .min_conf = NAN};

/* Writes "frame x y w h score category;" for each detection. */
static void show(const detections *d, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < d->count && n < size; i++) {
        const detection *at = &d->at[i];
        n += (size_t)snprintf(out + n, size - n, "%u %g %g %g %g %g %s;", at->frame, at->box[0], at->box[1], at->box[2],
                              at->box[3], at->score, detections_category(d, at->category));
    }
}

static void gives(const detections_request *r, const char *file, const char *expected) {
    detections d;
    char found[2000];
    text why = TEXT_INIT;
    if (!read_text(&d, r, file, &why)) fail_msg("%s: %s", file, why.s);
    show(&d, found, sizeof found);
    assert_string_equal(found, expected);
    assert_int_equal(why.len, 0);
    detections_free(&d);
    text_free(&why);
}

static void refuses(const detections_request *r, const char *file, const char *message) {
    detections d;
    text why = TEXT_INIT;
    assert_false(read_text(&d, r, file, &why));
    assert_says_all(why.s, message);
    detections_free(&d);
    text_free(&why);
}

#define MD(entries) "{\"images\": [" entries "], \"detection_categories\": {\"1\": \"animal\", \"2\": \"person\"}}"
#define MD_BOX(frame, conf) "{\"category\": \"1\", \"conf\": " conf ", \"bbox\": [0.1, 0.2, 0.3, 0.4], " \
                            "\"frame_number\": " frame "}"
#define MD_VIDEO(name, boxes) "{\"file\": \"" name "\", \"frame_rate\": 10, \"frames_processed\": [0, 2, 4], " \
                              "\"detections\": [" boxes "]}"
#define MD_PICTURE(name) "{\"file\": \"" name "\", \"detections\": [{\"category\": \"2\", \"conf\": 0.5, \"bbox\": " \
                         "[0, 0, 1, 1]}]}"
#define MS(file) "{\"file\": \"" file "\", \"detections\": [{\"category\": \"animal\", \"confidence\": 0.9, " \
                 "\"bbox\": [10, 20.5, 30, 60.5]}]}"
#define COCO(images, annotations) "{\"images\": [" images "], \"annotations\": [" annotations "], \"categories\": " \
                                  "[{\"id\": 3, \"name\": \"deer\"}], \"videos\": [{\"id\": 1, \"name\": \"v.mp4\"}, " \
                                  "{\"id\": 2, \"name\": \"w.mp4\"}]}"

static void test_formats(void **state) {
    static const struct {
        const char *file, *gives;
    } table[] = {
        {"1,-1,11,21,30,40,0.5,-1,-1,-1\n", "0 10 20 30 40 0.5 1;"},
        {"3,-1,1,1,2,2,1,-1,-1,-1\r\n1,7,1.5,2.5,3.25,4,-1,-1,-1,-1\r\n3,-1,9,9,2,2,0,0,0,0",
         "0 0.5 1.5 3.25 4 1 1;2 0 0 2 2 1 1;2 8 8 2 2 0 1;"},
        {"\xEF\xBB\xBF" "1, -1, 1, 1, 2, 2, 1, -1, -1, -1\n\n", "0 0 0 2 2 1 1;"},
        {"1,-1,-4,-5,20,20,1,-1,-1,-1\n", "0 -5 -6 20 20 1 1;"}, /* partly outside */
        {"frame,x,y,w,h\n4,1,2,3,4\n0,1.5,2,3,4\n", "0 1.5 2 3 4 1 1;4 1 2 3 4 1 1;"},
        {"h,w,y,x,note,frame,category,score\n4,3,2,1,hello,7,deer,0.25\n4,3,2,1,,7,fox,\n",
         "7 1 2 3 4 0.25 deer;7 1 2 3 4 1 fox;"},
        {"frame,x,y,w,h,video\n0,1,2,3,4,v.mp4\n0,5,6,7,8,w.mp4\n", "0 1 2 3 4 1 1;"},
        {"frame,x,y,w,h\n", ""},
        {MD(MD_VIDEO("v.mp4", MD_BOX("4", "0.9") "," MD_BOX("0", "0.1"))),
         "0 0.1 0.2 0.3 0.4 0.1 animal;4 0.1 0.2 0.3 0.4 0.9 animal;"},
        {MD(MD_VIDEO("a/b/v.mp4", MD_BOX("1", "1")) "," MD_VIDEO("films/v.mp4", MD_BOX("2", "1")) ","
            MD_VIDEO("w.mp4", MD_BOX("3", "1"))), "2 0.1 0.2 0.3 0.4 1 animal;"},
        {MD(MD_VIDEO("x\\\\films\\\\v.mp4", MD_BOX("1", "1")) "," MD_VIDEO("w.mp4", MD_BOX("3", "1"))),
         "1 0.1 0.2 0.3 0.4 1 animal;"},
        {MD(MD_VIDEO("v.mp4", "") "," MD_VIDEO("w.mp4", MD_BOX("3", "1"))), ""},
        {MD(MD_PICTURE("frames/frame000012.jpg") "," MD_PICTURE("frames/frame000002.jpg")),
         "2 0 0 1 1 0.5 person;12 0 0 1 1 0.5 person;"},
        {MD(MD_PICTURE("v.mp4/frame000012.jpg") "," MD_PICTURE("w.mp4/frame000002.jpg") "," MD_PICTURE("title.jpg")),
         "12 0 0 1 1 0.5 person;"},
        {MD("{\"file\": \"v.mp4\", \"detections\": [" MD_BOX("3", "1") "]}"), "3 0.1 0.2 0.3 0.4 1 animal;"},
        {MD("{\"file\": \"v.mp4\", \"detections\": [{\"category\": 1, \"conf\": 0.5, \"frame_number\": 3, \"bbox\": "
            "[0, 0, 1, 1]}]}"), "3 0 0 1 1 0.5 animal;"},
        {"[" MS("f/frame_0007.jpg") "," MS("f/frame_0003.jpg") "]",
         "3 10 20.5 20 40 0.9 animal;7 10 20.5 20 40 0.9 animal;"},
        {"[]", ""},
        {COCO("{\"id\": 5, \"frame_id\": 9, \"video_id\": 1}, {\"id\": 6, \"frame_id\": 9, \"video_id\": 2}",
              "{\"image_id\": 6, \"category_id\": 3, \"bbox\": [9, 9, 9, 9]}, {\"image_id\": 5, \"category_id\": 3, "
              "\"bbox\": [1, 2, 3, 4], \"score\": 0.5}"), "9 1 2 3 4 0.5 deer;"},
        {"{\"annotations\": [{\"image_id\": 1, \"bbox\": [1, 2, 3, 4]}, {\"image_id\": 1, \"bbox\": [1, 1, 1, 1], "
         "\"iscrowd\": 1}], \"images\": [{\"id\": 1, \"file_name\": \"x/00042.png\", \"width\": 640, "
         "\"height\": 480}]}",
         "42 1 2 3 4 1 1;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) gives(&usual, table[i].file, table[i].gives);
}

/* How spreadsheets, trackers and annotation tools write them. */
static void test_variants(void **state) {
    static const struct {
        const char *file, *gives;
    } table[] = {
        /* MOT: seven columns, blanks, semicolons; raw scores of any scale, or none, count as unknown. */
        {"1,-1,11,21,30,40,0.5\n", "0 10 20 30 40 0.5 1;"},
        {"1 7 11 21 30 40 0.5 -1 -1 -1\n  2\t7\t11\t21\t30\t40\t0.25\t-1\t-1\t-1 \n",
         "0 10 20 30 40 0.5 1;1 10 20 30 40 0.25 1;"},
        {"1; -1; 11; 21; 30; 40; 0.5\n", "0 10 20 30 40 0.5 1;"},
        {"1,-1,1,1,2,2,67.5,-1,-1,-1\n1,-1,1,1,2,2,0.5,-1,-1,-1\n", "0 0 0 2 2 1 1;0 0 0 2 2 1 1;"},
        {"1 7 11 21 30 40 0 0 -1\n", "0 10 20 30 40 1 1;"},
        /* The ground truth of MOT16 and later: a flag, a class, a visibility. */
        {"1,1,11,21,30,40,1,1,0.8\n1,2,11,21,30,40,0,7,1\n2,1,11,21,30,40,1,12,0\n",
         "0 10 20 30 40 1 1;1 10 20 30 40 1 12;"},
        {"1,1,11,21,30,40,1,1,0.8\n1,2,11,21,30,40,0.5,7,1\n", "0 10 20 30 40 1 1;0 10 20 30 40 0.5 1;"},
        /* CSV as spreadsheets write it. */
        {"frame;x;y;w;h;score\r\n0;1,5;2;3;4;0,25\r\n", "0 1.5 2 3 4 0.25 1;"},
        {"frame\tx\ty\tw\th\tcategory\n0\t1,5\t2\t3\t4\ta,b;c\n", "0 1.5 2 3 4 1 a,b;c;"},
        {"sep=;\nFrame;X;Y;W;H\n0;1;2;3;4;\n", "0 1 2 3 4 1 1;"},
        {"# from my script\nframe, x, y, w, h, category\n0, 1, 2, 3, 4, \"a deer\" \n", "0 1 2 3 4 1 a deer;"},
        {"frame,x,y,w,h,category\n0,1,2,3,4,\"a\nb, \"\"c\"\"\"\n", "0 1 2 3 4 1 a\nb, \"c\";"},
        {"\xEF\xBB\xBFsep=,\r\n\"frame\",\"x\",\"y\",\"w\",\"h\"\r\n0,1,2,3,4,,\r\n", "0 1 2 3 4 1 1;"},
        {"frame,x,y,w,h,score\n1,2,3,4,5,1.5\n", "1 2 3 4 5 1 1;"},
        /* COCO: ids as text, of numbers, too; no boxes; scores in percent. */
        {"{\"images\": [{\"id\": \"b\", \"frame_id\": 2}, {\"id\": \"7\", \"frame_id\": 1}], \"annotations\": ["
         "{\"image_id\": 7, \"category_id\": \"x\", \"bbox\": [1, 2, 3, 4]}, {\"image_id\": \"b\", \"category_id\": 0, "
         "\"bbox\": [5, 6, 7, 8]}, {\"image_id\": \"b\", \"bbox\": []}, {\"image_id\": 7}, {\"image_id\": 7, \"bbox\": "
         "[1, 1, 1, 1], \"iscrowd\": true, \"segmentation\": {\"counts\": \"abc\", \"size\": [2, 2]}}], "
         "\"categories\": [{\"id\": \"x\", \"name\": \"deer\"}, {\"id\": \"0\", \"name\": \"fox\"}]}",
         "1 1 2 3 4 1 deer;2 5 6 7 8 1 fox;"},
        {COCO("{\"id\": 5, \"frame_id\": 9}",
              "{\"image_id\": 5, \"category_id\": 3, \"bbox\": [1, 2, 3, 4], \"score\": 97.5}"),
         "9 1 2 3 4 1 deer;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) gives(&usual, table[i].file, table[i].gives);
}

static void test_requests(void **state) {
    detections_request r = usual;
    static const char two[] = "frame,x,y,w,h,score,category\n5,1,1,1,1,0.3,a\n6,2,2,2,2,0.7,b\n";
    (void)state;
    r.min_conf = 0.5, gives(&r, two, "6 2 2 2 2 0.7 b;");
    r.min_conf = NAN, r.category = "a", gives(&r, two, "5 1 1 1 1 0.3 a;");
    r.category = "animal", gives(&r, MD(MD_VIDEO("v.mp4", MD_BOX("3", "1"))), "3 0.1 0.2 0.3 0.4 1 animal;");
    r.category = "1", gives(&r, MD(MD_VIDEO("v.mp4", MD_BOX("3", "1"))), "3 0.1 0.2 0.3 0.4 1 animal;");
    r.category = "person", gives(&r, MD(MD_VIDEO("v.mp4", MD_BOX("3", "1"))), "");
    r = usual, r.min_conf = 0.5; /* of boxes without scores and categories */
    refuses(&r, "frame,x,y,w,h\n5,1,1,1,1\n", "no box has a score, so --min-conf cannot be used: remove it");
    r = usual, r.category = "1";
    refuses(&r, "1,-1,2,2,1,1,1,-1,-1,-1\n", "no box has a category, so --category cannot be used: remove it");
    r = usual, r.first = 1, gives(&r, "frame,x,y,w,h\n5,1,1,1,1\n", "4 1 1 1 1 1 1;");
    r.first = 0, gives(&r, "5,-1,2,2,1,1,1,-1,-1,-1\n", "5 1 1 1 1 1 1;");
}

/* The facts in a file about the video. */
static void test_facts(void **state) {
    detections d;
    text why = TEXT_INIT;
    (void)state;
    assert_true(read_text(&d, &usual, MD(MD_VIDEO("w.mp4", "") "," MD_VIDEO("v.mp4", MD_BOX("3", "1"))), &why));
    assert_int_equal(d.looked, 5);
    assert_int_equal(d.samples, 3);
    assert_int_equal(d.unit, BOX_NORMALISED);
    assert_string_equal(d.format, "MegaDetector");
    detections_free(&d);
    assert_true(read_text(&d, &usual, COCO("{\"id\": 1, \"video_id\": 1, \"frame_id\": 0, \"width\": 64, \"height\": "
                                           "48}", ""), &why));
    assert_int_equal(d.width, 64);
    assert_int_equal(d.height, 48);
    detections_free(&d);
    assert_true(read_text(&d, &usual, "frame,x,y,w,h\n0,1,1,0,5\n0,1,1,5,5\n0,1,1,5,0\n", &why));
    assert_int_equal(d.count, 1);
    assert_int_equal(d.empty, 2);
    detections_free(&d);
}

static const struct {
    const char *file, *says;
} refusals[] = {
    {"", "the file is empty"},
    {" \n\t", "the file is empty"},
    {"1,-1,11,21,30,40\n", "line 1: 6 columns; expected the 10 of MOT text: frame,id,x,y,w,h,score,x,y,z; or 7: up to "
                            "the score; or 9: frame,id,x,y,w,h,flag,class,visibility"},
    {"1,-1,1,1,2,2,1,-1\n", "line 1: 8 columns; expected the 10"},
    {"1,-1,1,1,2,2,1,-1,-1,-1\n1,-1,1,1,2,2,1,-1,-1,-1,5\n", "line 2: 11 columns; expected the 10"},
    {"1,-1,1,1,2,x,1,-1,-1,-1\n", "line 1: \"x\" is not a number"},
    {"1,-1,1,1,2,,1,-1,-1,-1\n", "line 1: \"\" is not a number"},
    {"1,-1,nan,1,2,2,1,-1,-1,-1\n", "line 1: \"nan\" is not a number"},
    {"1,-1,1e10,1,2,2,1,-1,-1,-1\n", "line 1: 1e+10 is not a coordinate"},
    {"0,-1,1,1,2,2,1,-1,-1,-1\n", "line 1: frame 0 is below the first frame, 1; if frames are counted from 0, give "
                                  "--first-frame 0"},
    {"-3,-1,1,1,2,2,1,-1,-1,-1\n", "line 1: -3 is not a frame number"},
    {"1.5,-1,1,1,2,2,1,-1,-1,-1\n", "line 1: 1.5 is not a frame number"},
    {"4e9,-1,1,1,2,2,1,-1,-1,-1\n", "line 1: 4e+09 is not a frame number"},
    {"1,-1,1,1,-2,2,1,-1,-1,-1\n", "line 1: a box of -2 x 2 has a negative width or height"},
    {"frame,x,y,w\n", "line 1: the header lacks \"h\"; it must name frame,x,y,w,h and may name "
                        "score,category,video"},
    {"frame,x,y,w,h\n1,2,3,4\n", "line 2: 4 fields, but the header has 5"},
    {"frame,x,y,w,h\n1,2,3,4,5\n1,2,3,4,a\n", "line 3: \"a\" is not a number"},
    {"frame,x,y,w,h\n1,2,3,4,5\n1,b,3,4,5\n1,2,3,4,5\n1,2,c,4,5\n1,2,3\n",
     "line 3: \"b\" is not a number (2 more rows cannot be read either)"},
    {"frame;x;y;w;h\n1;2,5;3;4;1.234,5\n", "line 2: \"1.234,5\" is not a number"},
    {"Frame,X,Y,breite,h\n", "the header lacks \"w\"; it must name frame,x,y,w,h and may name score,category,video; "
                            "frames are counted from 0, boxes are in pixels from the top left corner. It is: "
                            "Frame,X,Y,breite,h"},
    {"frame,x,y,w,h,video\n1,2,3,4,5,w.mp4\n", "it is about w.mp4, not about v.mp4"},
    {"frame,x,y,w,h,video\n1,2,3,4,5,u.mp4\n1,2,3,4,5,w.mp4\n",
     "it is about 2 videos, none of which is named v.mp4"},
    {"{}", "line 1: neither \"images\" nor \"annotations\": not a known format of detections"},
    {"{\"images\": [", "line 1: the text ends early"},
    {MD(MD_VIDEO("v.mp4", MD_BOX("3", "1"))) "x", "line 1: "},
    {MD("{\"detections\": []}"), "line 1: an entry lacks \"file\""},
    {MD("{\"file\": \"v.mp4\"}"), "line 1: an entry has neither \"detections\" nor \"failure\""},
    {MD("{\"file\": \"v.mp4\", \"failure\": \"no codec\", \"frame_rate\": 5}"),
     "the detector failed on v.mp4: no codec"},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"conf\": 1, \"bbox\": [0, 0, 1, 1]}")),
     "a detection lacks frame_number"},
    {MD("{\"file\": \"v.mp4\", \"detections\": [{\"category\": \"1\", \"conf\": 1, \"bbox\": [0, 0, 1, 1]}]}"),
     "v.mp4: has no frame_number, and its name does not end in one"},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"conf\": 1, \"frame_number\": 1}")), "a detection lacks bbox"},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"bbox\": [0, 0, 1, 1], \"frame_number\": 1}")),
     "a detection lacks conf"},
    {MD(MD_VIDEO("v.mp4", "{\"conf\": 1, \"bbox\": [0, 0, 1, 1], \"frame_number\": 1}")),
     "a detection lacks category"},
    {MD("{\"file\": \"v.mp4\", \"detections\": [{\"category\": [1], \"conf\": 0.5, \"frame_number\": 3, "
        "\"bbox\": [0, 0, 1, 1]}]}"), "the category of a detection must be a string, such as \"1\""},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"conf\": 1, \"bbox\": [0, 0, 1], \"frame_number\": 1}")),
     "a bbox must have four numbers"},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"conf\": 1, \"bbox\": [5, 5, 30, 40], \"frame_number\": 1}")),
     "as fractions of the frame, but this one exceeds it; it may be in pixels, or corners"},
    {MD(MD_VIDEO("v.mp4", "{\"category\": \"1\", \"confidence\": 1, \"bbox\": [0, 0, 1, 1]}")),
     "expected \"conf\""},
    {MD(MD_VIDEO("v.mp4", MD_BOX("-1", "1"))), "-1 is not a frame number"},
    {MD(MD_VIDEO("v.mp4", MD_BOX("\"1\"", "1"))), "line 1: "},
    {MD(MD_VIDEO("v.mp4", MD_BOX("1", "2"))), "the score 2 is not between 0 and 1"},
    {MD(MD_VIDEO("w.mp4", MD_BOX("1", "1"))), "it is about w.mp4, not about v.mp4"},
    {MD(MD_VIDEO("a/v.mp4", MD_BOX("1", "1")) "," MD_VIDEO("b/v.mp4", MD_BOX("1", "1"))),
     "it has several videos named v.mp4"},
    {"[{\"file\": \"a.jpg\", \"detections\": [{\"category\": \"animal\", \"conf\": 1, \"bbox\": [1, 1, 2, 2]}]}]",
     "expected \"confidence\", as in Microsoft's MegaDetector"},
    {"[{\"file\": \"1.jpg\", \"detections\": [{\"category\": \"a\", \"confidence\": 1, \"bbox\": [9, 9, 2, 2]}]}]",
     "a box of -7 x -7 has a negative width or height"},
    {"[{\"image_id\": 1, \"bbox\": [1, 2, 3, 4]}]",
     "line 1: a list of COCO results has only the ids of images, whose names are in"},
    {"{\"annotations\": [{\"image_id\": 1, \"bbox\": [1, 2, 3, 4]}],\n\"images\": []}",
     "line 1: an annotation has an unknown image_id"},
    {"{\"annotations\": [],\n\"images\": [{\"id\": 1}, \n{\"id\": 1}]}", "line 3: two of images have the id 1"},
    {"{\"annotations\": [],\n\"images\": [{\"frame_id\": 1}]}", "line 2: one of images lacks an id"},
    {"{\"annotations\": [],\n\"images\": [{\"id\": 1}]}", "line 2: an image has neither frame_id nor file_name"},
    {"{\"annotations\": [],\n\"images\": [{\"id\": \"a\", \"frame_id\": 1}, {\"id\": \"a\", \"frame_id\": 2}]}",
     "line 2: two of images have the id a"},
    {"{\"predictions\": []}", "line 1: this is SpeciesNet's JSON; convert it to MegaDetector's"},
    {MD(MD_VIDEO("v.mp4", MD_BOX("1", "NaN"))), "line 1: NaN, which JSON does not have; write null"},
    {"{\"annotations\": [{\"image_id\": 1, \"bbox\": [1]}],\"images\": []}", "a bbox must have four numbers"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        detections d;
        text why = TEXT_INIT;
        if (read_text(&d, &usual, refusals[i].file, &why)) fail_msg("read: %s", refusals[i].file);
        if (!says(why.s, refusals[i].says)) fail_msg("%s\nsays %s\nnot  %s", refusals[i].file, why.s, refusals[i].says);
        detections_free(&d);
        text_free(&why);
    }
}

/* A file that names no video cannot be used for several. */
static void test_several(void **state) {
    detections_request r = usual;
    detections d;
    text why = TEXT_INIT;
    (void)state;
    r.only = 0;
    assert_false(read_text(&d, &r, "frame,x,y,w,h\n1,1,1,1,1\n", &why));
    assert_says_all(why.s, "it does not name its video, and several videos are given");
    detections_free(&d);
    assert_false(read_text(&d, &r, "1,-1,1,1,2,2,1,-1,-1,-1\n", &why));
    detections_free(&d);
    assert_false(read_text(&d, &r, "[" MS("f/frame_0007.jpg") "]", &why));
    assert_says_all(why.s, "it is about f, not about v.mp4");
    detections_free(&d);
    gives(&r, "[" MS("films/v/frame_0007.jpg") "," MS("w/frame_0007.jpg") "]", "7 10 20.5 20 40 0.9 animal;");
    text_free(&why);
}

/* Every prefix of a file is read or refused, in a block of its exact size. */
static void test_beginnings(void **state) {
    static const char *const files[] = {
        MD(MD_VIDEO("v.mp4", MD_BOX("4", "0.9"))), "[" MS("f/frame_0007.jpg") "]",
        COCO("{\"id\": 5, \"frame_id\": 9}", "{\"image_id\": 5, \"category_id\": 3, \"bbox\": [9, 9, 9, 9]}"),
        "1,-1,11,21,30,40,0.5,-1,-1,-1\n", "frame,x,y,w,h,video\n0,1,2,3,4,v.mp4\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t n = 0; n < strlen(files[i]); n++) {
            detections d;
            char part[2000];
            text why = TEXT_INIT;
            snprintf(part, sizeof part, "%.*s", (int)n, files[i]);
            int good = read_text(&d, &usual, part, &why);
            assert_int_equal(good, why.len == 0);
            detections_free(&d);
            text_free(&why);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_variants), cmocka_unit_test(test_requests),
        cmocka_unit_test(test_facts),   cmocka_unit_test(test_refusals), cmocka_unit_test(test_several),
        cmocka_unit_test(test_beginnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
