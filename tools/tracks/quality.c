#include "tracks/quality.h"

#include <math.h>

/* The quality of a frame is a product: each factor is 1 when nothing is wrong, and others cannot make up for one that
   is very low (a large box of which half is hidden is still poor).

   BLUR: at this variance of the Laplacian, the sharpness factor is one half. Frigate subtracts up to 0.06 from a face's
   confidence below 120 and nothing from 250 on (blakeblackshear/frigate#15679); 60, half of the first, makes the factor
   0.67 at 120 and 0.81 at 250, so that differences above that count little.
   SIZE: a box with fewer pixels than the network's input is enlarged and lacks details; surplus pixels are averaged
   away. The factor is the square root of the ratio, because Frigate adds a term for the area instead of multiplying by
   it.
   CLIPPED, COVERED: a box with one of its four sides at the border loses a quarter of CLIPPED; a box that another one
   covers completely loses COVERED. MegaDetector and others leave it to their users how to treat cut-off animals. A mean
   of embeddings suffers more from another animal's coat than from a missing leg, so COVERED is larger (our judgement).
   The detector's score enters as its square root: it measures confidence that there is an animal rather than how well
   it can be seen (frames that spoiled a gallery were blurred, not doubtful: blakeblackshear/frigate#23450).

   Such measures can tell good frames of a track from poor ones, but no more (arXiv 2110.11111 finds them far behind
   learned ones across individuals). */
static const double BLUR = 60, CLIPPED = 0.8, COVERED = 0.9;

double quality_sharpness(const uint8_t *rgb, int width, int height) {
    double sum = 0, squares = 0;
    if (width < 3 || height < 3) return 0;
    const ptrdiff_t row = (ptrdiff_t)width * 3;
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const uint8_t *p = rgb + y * row + x * 3;
            const int luma[3] = {299, 587, 114}; /* thousandths (ITU-R BT.601) */
            int laplacian = 0;
            for (int c = 0; c < 3; c++)
                laplacian += luma[c] * (p[c - 3] + p[c + 3] + p[c - row] + p[c + row] - 4 * p[c]);
            sum += laplacian;
            squares += (double)laplacian * laplacian;
        }
    double count = (double)(width - 2) * (height - 2), mean = sum / count;
    return (squares / count - mean * mean) / 1e6;
}

/* How much of the interval of this length that starts at `begin` lies between 0 and `limit`. */
static double inside(double begin, double length, double limit) {
    double part = fmin(begin + length, limit) - fmax(begin, 0);
    return part > 0 ? part : 0;
}

double quality_clipped(const track_box *b, int width, int height) {
    int sides_x = (b->x <= 1) + (b->x + b->w >= width - 1), sides_y = (b->y <= 1) + (b->y + b->h >= height - 1);
    double off_x = b->w - inside(b->x, b->w, width), off_y = b->h - inside(b->y, b->h, height);
    double lost = sides_x * b->h + sides_y * b->w;
    lost += (2 - sides_y) * off_x + (2 - sides_x) * off_y; /* the parts of the other sides beyond the frame */
    return fmin(1, lost / (2 * (b->w + b->h)));
}

double quality_covered(const track_box *boxes, size_t count, size_t at) {
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (i != at) most = fmax(most, track_box_covered(&boxes[at], &boxes[i]));
    return most;
}

double quality_of(const quality_measures *m) {
    double sharp = m->sharpness > 0 ? m->sharpness / (m->sharpness + BLUR) : 0;
    double size = m->input > 0 ? sqrt(fmin(1, m->side / m->input)) : 1;
    double score = sqrt(fmax(0, fmin(1, m->score)));
    return sharp * size * score * (1 - CLIPPED * fmin(1, m->clipped)) * (1 - COVERED * fmin(1, m->covered));
}
