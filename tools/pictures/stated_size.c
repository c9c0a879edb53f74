#include "pictures/stated_size.h"

stated_size stated_size_of(double width, double height) {
    const double most = 1e9;
    if (!(width >= 1 && height >= 1 && width < most && height < most)) return (stated_size){0, 0};
    return (stated_size){(int)width, (int)height};
}

/* Whether one image is an enlarged copy of the other, apart from the rounding of its sides. */
static int same_shape(double w, double h, double other_w, double other_h) {
    return (w - 1) * (other_h - 1) <= (h + 1) * (other_w + 1) && (h - 1) * (other_w - 1) <= (w + 1) * (other_h + 1);
}

/* Programs that do not turn images upright measure boxes in the image as it is stored. Such a box marks another place,
   even if it lies inside. */
int stated_size_fits(stated_size s, int fractions, int width, int height, text *why) {
    if (!s.width || (s.width == width && s.height == height)) return 1;
    const int is_turned = s.width == height && s.height == width;
    if (fractions && !is_turned && same_shape(width, height, s.width, s.height)) return 1;
    return refuse(why, "the photo is %d x %d%s, but the detections say %d x %d; %s", width, height,
                  is_turned ? " when it is upright" : "", s.width, s.height,
                  is_turned ? "run the detector on photos that are turned upright (magick mogrify -auto-orient), "
                              "because it is unknown whether its boxes are for the stored or for the upright photo"
                            : "give the photos that the detector has seen");
}
