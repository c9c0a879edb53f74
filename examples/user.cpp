/* Demonstrates how to use reid.h from C++: a class that owns the handle, vectors in and out, exceptions for errors.

     c++ -O2 -std=c++11 user.cpp -o user
     ./user resnet50.safetensors query.jpg a.jpg b.jpg c.jpg

   Prints the images in the order of their cosine to the first one, the most similar first:

     0.9120 b.jpg
     0.8731 a.jpg
     0.8022 c.jpg */
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/* One decoded image. It can be moved but not copied, because it owns its pixels. */
class Picture {
public:
    explicit Picture(const std::string &path) : image_(new reid_image()) {
        reid_error error;
        if (reid_image_load(path.c_str(), image_.get(), &error) != REID_OK) throw std::runtime_error(error.text);
    }
    const reid_image &image() const { return *image_; }

private:
    struct Free {
        void operator()(reid_image *image) const {
            reid_image_free(image);
            delete image;
        }
    };
    std::unique_ptr<reid_image, Free> image_;
};

/* A network that is ready to use. Any number of threads may call embed. */
class Embedder {
public:
    explicit Embedder(const std::string &weights) {
        reid_error error;
        reid_desc desc = REID_INIT;
        reid_ctx *ctx = nullptr;
        desc.weights = weights.c_str();
        desc.error = &error;
        if (reid_create(&desc, &ctx) != REID_OK) throw std::runtime_error(error.text);
        ctx_.reset(ctx);
    }
    int dim() const { return reid_dim(ctx_.get()); }

    /* (n, dim()), one row for each image */
    std::vector<float> embed(const std::vector<reid_image> &images) const {
        reid_error error;
        std::vector<float> rows(images.size() * static_cast<std::size_t>(dim()));
        int n = static_cast<int>(images.size());
        reid_result r = reid_embed_ex(ctx_.get(), images.data(), n, rows.data(), &error);
        if (r != REID_OK) throw std::runtime_error(error.text);
        return rows;
    }

private:
    struct Destroy {
        void operator()(reid_ctx *ctx) const { reid_destroy(ctx); }
    };
    std::unique_ptr<reid_ctx, Destroy> ctx_;
};

static void rank(const std::string &weights, const std::vector<std::string> &paths) {
    Embedder embedder(weights);
    std::vector<Picture> pictures(paths.begin(), paths.end());
    std::vector<reid_image> images;
    for (const Picture &picture : pictures) images.push_back(picture.image());

    std::size_t dim = static_cast<std::size_t>(embedder.dim());
    std::vector<float> rows = embedder.embed(images);
    std::vector<std::pair<double, std::string>> ranking;
    for (std::size_t i = 1; i < paths.size(); i++)
        ranking.emplace_back(reid_cosine(&rows[0], &rows[i * dim], embedder.dim()), paths[i]);
    std::sort(ranking.rbegin(), ranking.rend());
    for (const auto &entry : ranking) std::printf("%.4f %s\n", entry.first, entry.second.c_str());
}

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s WEIGHTS QUERY IMAGE ...\n", argv[0]);
        return 2;
    }
    try {
        rank(argv[1], std::vector<std::string>(argv + 2, argv + argc));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "user: %s\n", e.what());
        return 1;
    }
    return 0;
}
