#include "commands/commands.h"

#include <stddef.h>

enum { VECTORS, WHO, NAMELESS, SERVING, GALLERIES, MODELS, MACHINE, REST };

static const char *const GROUPS[] = {"Images to vectors", "Identification", "Unnamed individuals", "Serving",
                                     "Galleries", "Models", "This machine", "Help", NULL};

static const char START[] =
    "  vectors       reid embed -m WEIGHTS IMAGES... -o OUT.npy\n"
    "  identities    reid match -m WEIGHTS --gallery FOLDER QUERY...\n"
    "  camera traps  reid track PHOTOS --detections FILE.json -m WEIGHTS -o OUT\n"
    "  a C program   include reid.h; the comment at its top is the manual\n";

static const command COMMANDS[] = {
    {EMBED, VECTORS, "embed", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... INPUT... [-o OUT]", "images to embeddings",
     "Writes one row per image: its embedding, of length 1; with two models, both embeddings side by side. Rows are in "
     "the order of the inputs. An input that fails is named and has no row.\n\n"
     "INPUT is an image, a folder (searched recursively, in byte order of names, for jpg, jpeg, jfif, jpe, png, bmp, "
     "tga, ppm, pgm, pnm, and with libwebp and libtiff also webp, tif, tiff; hidden files are skipped) or - for a list "
     "on stdin. With --boxes FILE, FILE names the images, and INPUT may be the folder that contains them: paths in "
     "FILE, Windows paths too, are matched by their ends. Box coordinates start at the top left corner of the upright "
     "image (after EXIF orientation). The rows of one image are called path#0, path#1, ... in the order of its boxes "
     "in the file.\n\n"
     "OUT.npy has the shape (rows, floats), little-endian float32; OUT.ids.txt has one id per row, with backslash and "
     "newline escaped as \\\\ and \\n; OUT.meta.json, written last, lists the models, fingerprints, identities and "
     "failures (its name is OUT.csv.meta.json for OUT.csv, and OUT.jsonl.meta.json for OUT.jsonl). The identity of an "
     "image is the first folder below the folder given as INPUT, else its file name without extension; with --boxes "
     "that folder is a camera, and only the FILE of --boxes can name identities. In JSON, bytes of a name that are not "
     "UTF-8 are written as \\udc80 to \\udcff, like Python's surrogateescape.\n\n"
     "16-bit images are reduced to 8 bits per channel; alpha is dropped.",
     {"reid embed -m resnet50.safetensors crops/ -o crops.npy",
      "reid embed -m resnet50.safetensors --boxes detections.json --min-conf 0.2 photos/ -o deer.jsonl",
      "find crops -name '*.png' -print0 | reid embed -m resnet50.safetensors -0 - --shard 1/2 -o part1.csv"},
     embed_main},
    {MERGE, VECTORS, "merge", "SHARD... -o OUT", "the outputs of embed --shard, joined into one",
     "Joins the outputs of reid embed --shard 1/N to N/N, in any order, into the files that a single run without "
     "--shard would have written, byte for byte: rows, OUT.ids.txt, OUT.meta.json. All must have the same format, "
     ".npy, .jsonl or .csv.\n\n"
     "The shards must belong together: the same models (by fingerprint), precision, options and version, the same list "
     "of inputs (by its length and hash), each number from 1 to N exactly once, and as many rows as their metadata "
     "say. Anything else is refused with the name of the shard at fault, and nothing is written. Failed inputs are "
     "reported as in a single run, with exit status 1.",
     {"reid merge part1.npy part2.npy -o whole.npy", NULL, NULL},
     merge_main},
    {IMPORT, VECTORS, "import", "ROWS [--ids FILE] --model NAME -o OUT",
     "embeddings of other programs to files that reid reads",
     "Turns embeddings that another program computed, with MiewID, MegaDescriptor, DINO or any other model, into the "
     "files that reid embed writes: OUT.npy, OUT.ids.txt, OUT.meta.json. cluster, calibrate, review, eval, gallery and "
     "the export to Camtrap DP then use them like those of reid embed. Each row is scaled to length 1.\n\n"
     "The format of ROWS is recognised by its content: .npy and .npz (one two-dimensional array of float16, float32 or "
     "float64), .fvecs, a tensor in safetensors or written by torch.save, or text: one row per line, with commas, "
     "semicolons, tabs or blanks between numbers. Text may have a header: first any of the columns path, id, identity, "
     "camera and time, then the values, with numbered names such as e0,e1,e2. Without a header, the first column may "
     "be a name. For any other file, the message says what it is and how to save its rows. A row is refused if it has "
     "a value that is not finite, or only zeros. Pickles are never read: save their arrays with numpy.save.\n\n"
     "The names in --ids are in the order of the rows, and each line is used as it is. Crops without an identity are "
     "grouped by cluster and named in review; eval, calibrate and cluster accept --labels. Images and boxes are not "
     "imported: give --pictures and --boxes to review and cluster, and --same-frame if the rows of one image are "
     "called path#0, path#1, ...\n\n"
     "NAME is recorded as the model of the rows. Only rows with the same NAME and length can be compared; use a new "
     "NAME when weights or preprocessing change. Commands that would have to embed an image for these rows (match, "
     "gallery add with images, serve) refuse: embed the image where the model runs, and import its row.",
     {"reid import rows.csv --ids names.txt --model miewid-msv3 -o imported.npy",
      "reid import rows.npy --ids names.csv --model dinov2-vitl14 -o dino.npy", NULL},
     import_main},
    {TRACK, VECTORS, "track", "[OPTION]... VIDEO|FOLDER... --detections FILE -o DIR",
     "videos and photo bursts to tracks and individuals",
     "Reads each video once, with ffmpeg, follows a detector's boxes from frame to frame, keeps the best frames of "
     "every track (sharp, large, complete, not covered) and embeds the crops. Tracks that broke are joined if "
     "embeddings, time and place agree; then individuals are found in the same way as by reid cluster: the crops of a "
     "track show one individual, tracks that share a frame show different ones.\n\n"
     "DIR gets tracks.json (videos, their scenes, tracks with their groups and best frames), tracks.txt (MOT text), "
     "embeddings.npy with its ids and metadata, crops/ with a PNG for each row, the page tracks.html, and, for R and "
     "spreadsheets, individuals.csv and crops.csv (photo or video, camera, date and time, box, detector's score, "
     "track, individual, similarity to its other crops, in doubt or not). With several videos, each gets its own text "
     "and page, named after it, and --detections must say which video each box belongs to. Rows are identical to those "
     "of reid embed for the same frames and boxes, or for the crops.\n\n"
     "A track that was joined has the best frames of each of its parts. Every frame of the file is read, upright and "
     "at its own time, whatever the frame rate. From a damaged or truncated video, all readable frames are used, and "
     "what is missing is reported. Detections that do not fit the video are refused. Exit status: 0 success; 1 a video "
     "is incomplete or a crop failed; 2 nothing was written.\n\n"
     "A FOLDER holds camera-trap photos: each folder in it that contains photos is a camera, and photos taken within "
     "--burst of each other are followed like frames of a video. Their times come from EXIF's DateTimeOriginal, or "
     "from --times; a photo without a time is a burst of its own. Detections are assigned to photos by file name. "
     "Accepted are MegaDetector's JSON, COCO, CSV with path,x,y,width,height and optionally score, category, or MOT "
     "text for a folder of numbered frames. A folder is a place, not a name: crops have a camera and no identity.\n\n"
     "Without --threshold and --calibration, a threshold is estimated without labels, as with reid calibrate DIR, and "
     "written to calibration.json. If the scores do not show one, groups are cut at a guess. A message says which of "
     "the two was used. reid cluster, review, calibrate, eval, match and gallery add accept DIR instead of a file, and "
     "use what it stores: tracks, shared frames, cameras, times, photos and boxes, the threshold, calibration.json and "
     "decisions.jsonl. reid cluster DIR finds the same individuals.\n\n"
     "DIR appears at the end, complete. Until then the work is in DIR.part, which records every finished video with "
     "its rows: --resume completes an interrupted or killed run, and the result is byte-identical to that of an "
     "uninterrupted one. A video that was in progress is read again from its start. --resume refuses other inputs, "
     "models or options.",
     {"reid track film.mkv --detections film.txt -m w.safetensors --threshold 0.8 -o tracks", NULL, NULL},
     track_main},
    {MATCH, WHO, "match", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... --gallery PATH QUERY...",
     "the best identities for an image",
     "Compares each QUERY (an image, a folder, - for a list, or --boxes) with the gallery and lists the best "
     "identities with their scores. The score of a gallery image is its cosine with the query, or the weighted sum of "
     "the two models' cosines; the score of an identity is that of its best image. Equal scores keep the gallery's "
     "order.\n\n"
     "In a gallery folder the identity is the first folder below it, or the name of an image directly in it. A "
     "gallery file must have been made with the same models, options and preprocessing: fingerprints are compared.\n\n"
     "A score means nothing until it is calibrated: there is no default threshold for one model, and strangers can "
     "score 0.9. Make a --calibration from images of your own, or choose a --threshold.",
     {"reid match -m resnet50.safetensors --gallery gallery/ query.png",
      "reid match -m resnet50.safetensors --gallery crops.npy --threshold 0.95 -k 3 --json crops/",
      "reid match -m resnet50.safetensors -m efficientnet_b0.safetensors --gallery gallery/ query.png"},
     match_main},
    {EVAL, WHO, "eval", "[-m WEIGHTS]... [OPTION]... [FOLDER] [FILE.npy]...",
     "accuracy on labelled images, with intervals",
     "Compares every query with every gallery image and evaluates the rankings. Images are embedded with -m, or their "
     "embeddings come from one file of reid embed, or from two (queries, gallery).\n\n"
     "FOLDER is Market-1501 or DukeMTMC-reID (query/ and bounding_box_test/; identity and camera are in the file "
     "names), MSMT17 (list_query.txt and list_gallery.txt), query/ and gallery/ with a folder per identity in each, or "
     "a folder per identity, in which case every image is a query against all others. --labels gives the same "
     "information in a table. In file names, identity -1 marks junk, which is ignored, and 0000 a distractor.\n\n"
     "Ranking: rank-1, 5 and 10 (CMC); mAP as in torchreid and fast-reid, and with the trapezoid rule over all queries "
     "as in layumi's baseline; mINP. Queries without a match count only in the latter mAP. Pairs: the true-match rate "
     "at given false-match rates (in fast-reid's tables, genuine pairs and impostors are swapped), the area under the "
     "curve, the equal error rate; they come from histograms of the scores with 1048576 steps. New individuals: a "
     "query is known if the gallery has another image of its identity; BAKS and BAUS are the mean accuracies over "
     "known and new identities. ARI compares the identities of the queries with their clusters by single linkage at a "
     "threshold. Without --threshold the best threshold for these images is used, which is optimistic. With --rerank, "
     "scores are the new distances, negated.\n\n"
     "Intervals are 95 %, from resampling identities, not images. --compare checks a faster precision: it fails if "
     "rank-1 or mAP loses more than --limit points against the first, or if even one image's embedding has changed "
     "more than --least-cosine allows, which averages would hide; \"uncertain\" means that the interval includes the "
     "limit.\n\n"
     "The exit status is 1 if labelled images failed or --compare failed.",
     {"reid eval crops.npy", "reid eval -m resnet50.safetensors --rerank Market-1501-v15.09.15",
      "reid eval -m resnet50.safetensors --compare cpu/fp32,cpu --json gallery/"},
     eval_main},
    {CALIBRATE, WHO, "calibrate", "[-m WEIGHTS]... [OPTION]... [FOLDER] [FILE.npy]...",
     "a threshold and probabilities for scores",
     "Learns from labelled images, or from crops without labels (below), what the scores of these models mean: the "
     "equal error rate, the threshold for a chosen false-match rate, and the probability that two images with that "
     "score show one individual. For two models it also fits their shares of the score. FOLDER and --labels are as in "
     "reid eval; --pairs gives single pairs instead. Intervals are 95 %, from resampling identities, not pairs.\n\n"
     "Use images of individuals that are neither in your gallery nor in the training set, taken under the conditions "
     "of later use. Rates are per pair: a stranger who is compared with a thousand gallery images gets a thousand "
     "chances. About 2000000 pairs of each kind are drawn if there are more.\n\n"
     "The probability assumes that a share --prior of the compared pairs shows one individual; in a search of a large "
     "gallery that share is far below one half.\n\n"
     "OUT is for reid match --calibration, which refuses it for any other model, head or preprocessing. For a folder "
     "of reid track, unless -o is given, it is calibration.json in that folder, where reid cluster and review find "
     "it.\n\n"
     "Crops that were cut by boxes have no identities, because folders of photos are cameras. Without --labels and "
     "--pairs, their threshold comes from what needs no labels: boxes of one photo show different individuals, and so "
     "do most pairs overall. Sightings, which are tracks and crops without a track, are compared; pairs within a "
     "camera are treated separately from pairs across two cameras. A mixture of two distributions is fitted to their "
     "scores and to the answers in --decisions; the threshold is the score that a share --fmr of the pairs of two "
     "individuals exceeds. Pairs within a track are left out: they look more alike than an individual does on two "
     "different days, so a threshold from them would be too high. If the scores do not show two distributions, the "
     "message says so, and nothing is written.\n\n"
     "--int8 is a different calibration. Its inputs are those of reid embed: a few hundred images like those you will "
     "embed, without labels. The network runs on them in FP32, and each activation gets the range with the least mean "
     "squared error of rounding and clipping to 8 bits (Nagel et al., \"A White Paper on Neural Network "
     "Quantization\", 3.1, with a histogram of 16384 bins). The ranges are for these weights, preset and size. At the "
     "end the cosine between INT8 and FP32 embeddings is reported for every fifth image, which is held out if there "
     "are ten or more; reid eval --compare fp32,int8 measures the loss of accuracy.",
     {"reid calibrate crops.npy --fmr 0.01 -o score.json", "reid calibrate -m resnet50.safetensors --fmr 0.01 crops/",
      "reid calibrate crops.npy --pairs pairs.csv --fmr 0.1 --json"},
     calibrate_main},
    {FIT, WHO, "fit", "-m WEIGHTS [OPTION]... [FOLDER] [FILE.npy] [-o OUT]",
     "a head for your individuals, from labelled crops",
     "Computes the last linear layer of a network in closed form from crops of known individuals: minutes on a CPU, no "
     "training. OUT is the weight file of -m with that head: reid embed -m OUT gives embeddings in which individuals "
     "of this kind are further apart, new ones included. FOLDER and --labels are as in reid eval; FILE.npy holds "
     "embeddings from these weights, made by reid embed --raw --head none, which saves computing them again.\n\n"
     "ResNet-50 gets 512 dimensions (the result is a resnet50-layumi network), EfficientNet gets its projection to "
     "512; for resnet50-multiscale all four layers are fitted (--net resnet50-multiscale accepts any ResNet-50), from "
     "images only. Other networks have final layers of their own and are refused.\n\n"
     "Methods, on the principal components of the crops: lda maximises the distance between the individuals' means "
     "relative to the spread within individuals, and has one direction fewer than there are individuals; within uses "
     "the spread of all crops instead of the means, and has more directions; pca only equalises the variances. Method, "
     "shrinkage and the shares of the four layers are chosen by cross-validation over individuals, in five folds.\n\n"
     "At least four individuals need two or more crops each; a good head needs dozens of individuals, photographed "
     "under the conditions of later use. --report measures the benefit on held-out individuals; from a FILE.npy it "
     "does so without -m. Scores change with the head: calibrate again, with individuals that were not used for the "
     "fit. The same crops give the same bits, whatever the number of threads.",
     {"reid fit -m efficientnet_b0.safetensors crops/ --report --holdout 0.5 -o fitted.safetensors",
      "reid fit raw.npy --report --json",
      "reid fit -m resnet50.safetensors --method lda --shrinkage 0.1 crops/ -o lda.safetensors"},
     fit_main},
    {CLUSTER, NAMELESS, "cluster", "[OPTION]... INPUT... [-o OUT]", "crops grouped into individuals, without names",
     "Each INPUT is a file of embeddings (reid embed) or a gallery, all from the same models. Each crop starts as a "
     "group; the two groups with the highest mean score between their crops are joined, again and again, down to the "
     "threshold. This is exact average linkage with the scores of reid match: every pair is compared.\n\n"
     "The output has one row per crop, in the order of the inputs: id, group, name, mean score with the rest of its "
     "group, status, suggested. Groups are numbered from 0; with --carry or --add they keep the numbers of an earlier "
     "output. With --add the status is known (in the earlier output), joined (a new crop of a known group), suggested "
     "(the column suggested names the group) or new. The JSON has the groups with their crops, and every join with its "
     "score.\n\n"
     "INPUT may also be a folder of reid track. Its tracks, shared frames, boxes and threshold are then used without "
     "further options, and so are its calibration.json and decisions.jsonl if they exist. If no threshold is known, "
     "one is estimated without labels, as with reid calibrate. If the scores do not show one, groups are cut at a "
     "guess: 0.65 (0.40 with two models), or the score that one in a hundred pairs exceeds, if that is higher. A "
     "message says which of these was used. If -o is the folder itself, its individuals.csv and crops.csv are "
     "rewritten.\n\n"
     "Decisions (--decisions), frames (--same-frame) and tracks (--tracks) override scores. If they contradict each "
     "other, the message names the chain of decisions, and nothing is written. With -o, stdout gets a summary, and the "
     "agreement of the groups with labels, if there are any.\n\n"
     "--count estimates the number of individuals, even if scores are poor: people compare each crop of a sample with "
     "some others (reid review --count asks them), and their answers give an estimate with a 95 % interval. The "
     "questions depend on the crops, their scores and the seed, never on answers; a crop is not counted until all its "
     "questions have been answered. A track is asked about once, and so are photos of one camera within 5 seconds of "
     "each other, unless two of their crops are known to differ. Poor scores widen the interval or require more "
     "questions; if so, that is reported and the exit status is 1.",
     {"reid cluster crops.npy --threshold 0.8 -o groups.csv",
      "reid cluster crops.npy --threshold 0.8 --same-frame --decisions decisions.jsonl --carry groups.csv -o again.csv",
      "reid cluster crops.npy --threshold 0.8 --explain crops/1/1.png crops/2/1.png"},
     cluster_main},
    {REVIEW, NAMELESS, "review", "[OPTION]... INPUT... --decisions FILE",
     "a page on which people decide who is the same",
     "Each INPUT is a file of embeddings (reid embed), a folder of reid track (whose decisions.jsonl is then the "
     "default for --decisions), or a gallery. Their crops are grouped in the same way as by reid cluster, and a page "
     "in the browser first shows the most doubtful pairs, one question at a time, then the groups. The answers are "
     "\"same\", \"different\" and \"not a crop\" (or \"not an animal\", \"not a person\", \"not a vehicle\" if the "
     "detector named the category); groups can be named and split, and every step can be undone. Below a crop are its "
     "photo, camera and time, if they are known; a click on the crop shows the whole photo with the box. Everything "
     "works by keyboard and by touch; ? lists the keys. The page's address is the only line on stdout. The page can be "
     "opened only on this machine, and requests without the secret in its address are refused. Ctrl-C ends it.\n\n"
     "Every answer is a line in --decisions, on disk before the next question. Lines are only ever added, even by an "
     "undo; several pages and programs may write to the file at the same time. Of two decisions about a pair the later "
     "one counts. A decision that contradicts others is refused, with the chain that it contradicts. reid cluster "
     "--decisions uses them.\n\n"
     "Groups and questions follow the answers: they are recomputed in the background, automatically if that takes less "
     "than a second or no question is left, otherwise on pressing R. The current question stays until it is "
     "answered.\n\n"
     "Images are found through the ids, and thumbnails are made as they come into view. --html writes a page that "
     "contains everything, to be passed on, with at most 64 MiB of whole photos, those of the questions first; its "
     "groups cannot be recomputed. It asks who answers, and saves decisions to a file, which --import adds to a "
     "journal, without duplicates.\n\n"
     "With --count the questions are those from which reid cluster --count estimates the number of individuals.",
     {"reid review crops.npy --threshold 0.8 --decisions decisions.jsonl",
      "reid review crops.npy --threshold 0.8 --decisions decisions.jsonl --html review.html",
      "reid review --import saved.jsonl --decisions decisions.jsonl"},
     review_main},
    {SERVE, SERVING, "serve", "-m [NAME=]WEIGHTS [-m [NAME2=]WEIGHTS2]... [OPTION]...",
     "embeddings and matches over HTTP",
     "Answers HTTP requests until it is stopped. The images of all clients are computed together, in batches; every "
     "embedding equals that of reid embed, bit for bit. It listens on a Unix socket to which only you can connect, on "
     "the addresses given by --socket and --listen, or on sockets that systemd passes, and prints the address to "
     "stderr when it is ready.\n\n"
     "A model is called NAME, by default its file name without folder and extension. POST /embed takes one image as "
     "the body, or a form with images in parts called file or image (curl -F file=@a.jpg), and returns "
     "{\"fingerprint\": ..., \"embeddings\": [[...]]}: one row, or one for each ?box=x,y,w,h, in pixels of the upright "
     "image; model=NAME selects one of several models. POST /match takes the same and searches the --gallery, with the "
     "models' shares as in reid match; top=N sets how many identities it lists. Both take priority=0 (first) to 7, "
     "default 3, and timeout= in microseconds.\n\n"
     "/v2/... is the Open Inference Protocol (KServe v2, as in Triton): /v2/models/NAME/infer with one input, image "
     "(BYTES, n encoded images; base64 in JSON) or pixels (UINT8, n x height x width x 3), and the output embedding "
     "(FP32), as JSON or with the binary extension; the parameters are priority and timeout, and others are ignored. "
     "/v2/repository/index lists the models and their states. /metrics is for Prometheus; /livez and /readyz are for "
     "probes (/health and /healthz are the same as /readyz); a browser shows examples at /, and /openapi.json "
     "describes all paths. X-Request-ID is returned.\n\n"
     "Errors are {\"error\": ...}: 400, 404, 405, 411, 413, 415 and 501 name what is wrong; 401: the token is missing; "
     "408: the request arrived too slowly; 414 and 431: the URL or the header fields are over 64 KiB; 503: too many "
     "images are waiting, too many large bodies are being received, too many large answers have not been read by their "
     "clients, or the model cannot be used now (see Retry-After); 504: the timeout has passed; 507: a model that a "
     "client loads does not fit. Requests whose client disconnects are dropped. What cannot be parsed as HTTP gets 4xx "
     "or 505 and an HTML page, or no reply, and the connection is closed. A connection on which no request starts "
     "within --idle is closed, too, or earlier if there are more than --connections. Compressed bodies and shared "
     "memory are refused.\n\n"
     "Without a token, TCP is limited to this machine, and requests that a browser sends for pages of other sites are "
     "refused. --tls-cert and --tls-key encrypt TCP; the Unix socket never is.\n\n"
     "On SIGTERM or Ctrl-C /v2/health/ready returns 503, new requests are refused, and accepted ones are finished; "
     "then it exits with 0. A second signal ends it at once. On SIGHUP it reads models, gallery, calibration, tokens "
     "and certificate again. Requests that have begun are finished with the old ones; if something cannot be read, "
     "nothing changes.",
     {"reid serve -m efficientnet_b0.safetensors",
      "reid serve -m deer=efficientnet_b0.safetensors --gallery gallery/ --listen 127.0.0.1:0"},
     serve_main},
    {WORKER, SERVING, "worker", "-m [NAME=]WEIGHTS [-m [NAME2=]WEIGHTS2]... [OPTION]...",
     "embeddings and matches over stdin and stdout, for a parent process",
     "Answers the same requests as reid serve, for the program that started it: requests are frames on stdin, answers "
     "are frames on stdout, and nothing else is written to stdout. Any number of requests may be in progress; their "
     "images are computed together, and each is answered when it is done, so a client must read while it writes, and "
     "recognise answers by their id. examples/python/worker_client.py is a client.\n\n"
     "A frame consists of two 32-bit little-endian numbers (the lengths in bytes of the header, 1 to 1048576, and of "
     "the body), the header (a JSON object) and the body. The header of a request has:\n\n"
     "\"ask\": \"embed\" (the body is an image, as in POST /embed), \"match\" (as in POST /match), \"infer\" (the body "
     "is that of /v2/models/NAME/infer), \"stats\" (no body; the counters of one model or of all) or \"model\" (no "
     "body; describes the model).\n\n"
     "\"id\": a string or a number, repeated in the answer. Requests in progress should have different ones.\n\n"
     "\"model\": NAME, if there are several; not for match, which uses all. \"boxes\": [[x, y, width, height], ...], "
     "\"priority\": 0 (first) to 7, default 3, and \"timeout\" in microseconds are for embed and match (infer has the "
     "last two in its JSON); \"top\": N for match; \"binary\": true for embed: rows as bytes. \"json\", for infer: the "
     "number of bytes of the body that are JSON, before those of the binary extension; default: all.\n\n"
     "The header of an answer is {\"id\": ..., \"status\": ..., \"json\": N}; id is null if the request had no "
     "readable one. The first N bytes of the body are the JSON of reid serve, {\"error\": ...} unless the status is "
     "200. With \"binary\" it is {\"fingerprint\": ..., \"shape\": [n, d]}, followed by n x d little-endian float32; "
     "binary outputs of infer follow its JSON in the same way. The status is HTTP's: 400 and 404 name what is wrong, "
     "413 too large, 500 failed, 503 too many images waiting, 504 timeout.\n\n"
     "While --limit requests are in progress, or requests and unread answers exceed four times --max-body, nothing "
     "more is read: the pipe fills up and the writer waits. A body over --max-body is skipped and answered with "
     "413.\n\n"
     "After the end of stdin all requests are answered, then it exits; after SIGTERM it stops reading and does the "
     "same within --drain. It ends at once when stdout is closed, so it never outlives its parent.\n\n"
     "Exit status: 0, all requests were answered, failed ones with their error. 75, try again: the GPU is lost or in "
     "use, out of memory, stdout is full or closed, requests were dropped. 2, do not try again: invalid options or "
     "weights, or stdin contained something that is not a frame, or ended within one (earlier requests were answered).",
     {"reid worker -m efficientnet_b0.safetensors <requests.frames >answers.frames", NULL, NULL},
     worker_main},
    {GALLERY, GALLERIES, "gallery", "PART FILE [OPTION]... [ARGUMENT]...",
     "known individuals, in a file or in PostgreSQL",
     "PART is create, add, remove, list, search, set, compact, verify, export, push, pull, sql or reembed; FILE is the "
     "gallery: a file, or a database, postgresql://... (see \"reid help databases\").\n\n"
     "A gallery holds templates: embeddings with an id, an identity, and optionally a camera, a time and the image "
     "they came from. It records the models that made them, and refuses embeddings from other models.\n\n"
     "create makes an empty gallery. add takes images and folders (with -m, identities as in reid match), a list "
     "(--list), or files of embeddings (.npy, .fvecs, .jsonl, with their metadata); an id that already exists is an "
     "error; with --groups the crops in such files get the names from reid cluster and reid review. remove takes ids, "
     "or identities with --identity. list prints id, identity, camera and time, separated by tabs. search takes images "
     "with -m, or a file of embeddings, and compares each with every template, exactly; templates of the query's own "
     "image (same bytes, or for embeddings the same id) are ignored. set changes the threshold. export writes what add "
     "reads.\n\n"
     "What add or remove reports as done is on disk: a crash or a full disk neither loses it nor leaves a change half "
     "made. Concurrent writers wait for each other; readers never wait. Every record has a checksum: verify names "
     "damaged ones, compact --salvage keeps the others. compact rewrites the file without removed templates.\n\n"
     "A gallery records which JPEG decoders its images were read with (--jpeg), which verify and export report; adding "
     "or comparing images read with another one causes a warning, because scores shift slightly.",
     {"reid gallery create deer.gallery -m resnet50.safetensors --fp16",
      "reid gallery add deer.gallery -m resnet50.safetensors gallery/",
      "reid gallery search deer.gallery -m resnet50.safetensors -k 3 query.png"},
     gallery_main},
    {INSPECT, MODELS, "inspect", "[OPTION]... WEIGHTS [IMAGE]...", "the contents of a weight file",
     "Shows the detected network, its head, preprocessing, size and cost, which tensors are used, missing or unknown, "
     "the fingerprint of its embeddings, and how it would run on this machine. For a file that cannot be used, the "
     "tensors are still listed, then the reason; the exit status is then 2.\n\n"
     "--condition also takes images and shows which precision they need: activations beyond 65504 overflow in FP16, "
     "and if a network magnifies a change of its input a hundredfold, even two programs in FP32 do not agree to 1e-5. "
     "The change is a millionth of every pixel's value, upwards in red and blue, downwards in green; growth is the "
     "distance between the two embeddings divided by the change, including FP32's own rounding.",
     {"reid inspect resnet50.safetensors", "reid inspect --plan --size 256x128 resnet50.safetensors",
      "reid inspect --tensors --json efficientnet_b0.safetensors"},
     inspect_main},
    {CONVERT, MODELS, "convert", "[OPTION]... IN [OUT.safetensors]", "PyTorch checkpoints and ONNX to safetensors",
     "IN is a .pth, .pt or .bin file from torch.save (any version; a state_dict, a training checkpoint around one, or "
     "a whole pickled model), .safetensors, .onnx, or the text format .wts. Nothing in it is executed. Tensors get "
     "torchvision's names; the known layouts are torchvision, timm, Hugging Face's ResNet and EfficientNet, torchreid, "
     "fast-reid, strong-baseline, layumi, EfficientNet-PyTorch and Sequential(*children()), with any prefix. Values "
     "are unchanged, bit for bit.\n\n"
     "The report lists what became of every tensor: used, missing, reshaped (only sides of length 1 differ, or the "
     "file has no shapes), carried (classifier and counters, which PyTorch expects), dropped (needed for training "
     "only), neck (a layer that changes the embedding and that this network does not have), unknown, mismatched. A "
     "neck or an unknown tensor is refused unless --allow-unused drops it. Without OUT there is only the report.\n\n"
     "In an ONNX file tensors are identified by how they are used: node by node, its convolutions must be those of a "
     "known network, with their strides, padding and activations. Batch norms may be folded into them.\n\n"
     "fast-reid's config.yaml or config.yml next to IN says how the network pools, its stride and its input, which the "
     "tensors do not; what they do say must agree. Its _BASE_ is followed.\n\n"
     "--head turns layers of your own into the head. A last layer whose width is not 1000 may be such a head: the "
     "report names it, and it is dropped unless --head names it.\n\n"
     "OUT appears complete or not at all, and is checked like the weights of reid embed: names, shapes, values. Its "
     "metadata name the network, and the preset and layer4's stride if an option, the file or its origin determine "
     "them.",
     {"reid convert resnet50.pth resnet50.safetensors",
      "reid convert --preset torchreid --last-stride 1 checkpoint.pth reid.safetensors",
      "reid convert --json -v checkpoint.pth"},
     convert_main},
    {PACK, MODELS, "pack", "-m WEIGHTS|--net NAME [OPTION]... -o FILE", "GPU kernels, compiled in advance",
     "Compiles every kernel that the network needs on one kind of GPU and writes them to a file for --pack and for "
     "desc.kernels_pack: the machine that runs the network then needs no NVRTC and starts without compiling. Packing "
     "needs NVRTC, but no GPU. Network, input size, precision, largest batch, --latency, --flip and --raw must be the "
     "same when the file is used. For int8 the kernels for FP32 are included unless --no-fallback is given. --chip is "
     "the compute capability, sm_90 for an H100 or H200, sm_89 for an RTX 40.",
     {"reid pack --net resnet50 --chip sm_90 -o resnet50.sm_90", NULL, NULL},
     pack_main},
    {DOCTOR, MACHINE, "doctor", "[-m WEIGHTS]... [--gallery PATH] [OPTION]...",
     "what works here, and what is missing",
     "Checks what reid uses and finds at run time, one line each: severity, subject, finding and remedy. These are the "
     "processor and its fast kernels, in a self-test of about a second against an embedding from PyTorch; CPUs, "
     "affinity and the container's quota; memory; disk; GPU, driver, NVRTC, NVML and the cache of compiled kernels, "
     "which only you may write to; libturbojpeg, libwebp, libtiff, libpq, libmicrohttpd, ffmpeg.\n\n"
     "With -m it opens the models as other commands do. It also checks --gallery (a folder, a file or a database) and "
     "--calibration, and whether they belong to the models.\n\n"
     "\"good\" needs no action; a \"note\" concerns only some tasks; a \"warning\" means that something works less "
     "well than it could; an \"error\" means that something you asked for cannot work. Exit status: 0 with at most "
     "notes; 1 with warnings; 2 with errors.",
     {"reid doctor", "reid doctor -m resnet50.safetensors --gallery crops.npy --threshold 0.9 --json", NULL},
     doctor_main},
    {TUNE, MACHINE, "tune", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... INPUT... [-o FILE]", "the fastest settings for this "
                                                                                       "machine",
     "Measures, with these models and images on this machine, the best numbers of decoders, threads and images per "
     "batch, shows them in a table, fastest first, with an arrow at the choice, and writes the choice as a profile, "
     "which other commands take with --profile FILE. INPUT is as for reid embed: a hundred images like those you will "
     "embed. Settings given as options (--threads 4) are not varied.\n\n"
     "It starts with all CPUs and the library's default batch, moves on to better neighbours, and compares the best "
     "ones in turns. Of settings that differ by less than 1 %, the one with the fewest threads wins. If memory is "
     "limited (on a GPU, or with --memory), the largest possible batch is found first, by doubling and halving. The "
     "column GIB is the memory of the models and of images in progress. Other programs disturb the measurements: on a "
     "busy machine the choice may be wrong; a quiet machine, or more --seconds, helps.\n\n"
     "A profile is a text file with lines KEY = VALUE: device, batch, threads, lanes, decoders, memory. None of them "
     "changes an embedding except the device, which may have another default precision.",
     {"reid tune -m resnet50.safetensors --seconds 2 crops/ -o here.profile",
      "reid embed -m resnet50.safetensors --profile here.profile crops/ -o crops.npy", NULL},
     tune_main},
    {BENCH, MACHINE, "bench", "-m WEIGHTS [OPTION]...", "the speed of a network on this machine",
     "Measures reid_embed on noise of the network's input size, in memory: the whole call, and each operation by "
     "itself, with their sum; on a GPU, it also times all operations in one graph, as calls submit them, by the GPU's "
     "clock. Every figure is the median of --rounds measurements after a warm-up; a round is one call, or as many as "
     "take 10 ms.\n\n"
     "The ceilings of a CPU are measured in the same run, on all threads together: multiply-adds in registers, and a "
     "copy larger than the caches, bytes read plus bytes written. No network reaches them. An operation is bound by "
     "memory if its bytes at that bandwidth take longer than its multiply-adds; bytes are counted as if each "
     "activation went to memory once and the weights once per batch, so small ones that stay in a cache can exceed 100 "
     "%.\n\n"
     "The first start on a GPU compiles kernels; later ones find them in the cache (REID_CACHE_DIR). A model of the "
     "chip chooses how Hopper's convolutions are cut into tiles, until --tune has measured them for this network, "
     "input size and precision; that takes minutes, because every kernel is compiled in up to 18 ways. Embeddings stay "
     "the same, bit for bit.",
     {"reid bench -m resnet50.safetensors --batches 1,8 --rounds 5",
      "reid bench -m resnet50.safetensors --size 256x128 --batches 4 --ops --rounds 3 --output bench.json",
      "reid bench -m efficientnet_b0.safetensors --batches 1 --start 2 --rounds 3"},
     bench_main},
    {HELP, REST, "help", "[COMMAND|TOPIC]", "this help, or help on a command or topic", "", {NULL, NULL, NULL},
     help_main},
    {VERSION, REST, "version", "", "the version of the command and its library", "", {NULL, NULL, NULL}, version_main},
    {0, 0, NULL, NULL, NULL, NULL, {NULL, NULL, NULL}, NULL},
};

static const help_topic TOPICS[] = {
    {"models", "networks, heads and preprocessing",
     "Each option applies to the -m before it; before the first -m, to all models.\n\n"
     "The weight file determines the network, unless --net names it. A preset is the preprocessing: the resize, the "
     "crop, and the normalisation with which the network was trained. It is part of the embedding: a wrong preset "
     "causes no error, but makes every score meaningless. --preset takes a name, or a name and fields (\"timm-0.95 "
     "size=288x288 crop=1\"); the options from --filter to --size change single fields. reid convert can store preset "
     "and network in the file.\n\n"
     "A ResNet's trunk may have 101 or 152 layers, instance norm (IBN-a, IBN-b) and non-local blocks; the file's "
     "tensors say so, and the network is then called resnet101-ibn-nl-fastreid-gem, for example. --net "
     "resnet50-fastreid-gem accepts any trunk.\n\n"
     "The fingerprint identifies the function from pixels to embedding: weights, preset, head, --flip, --raw, "
     "--latency. Embeddings with different fingerprints are never compared.",
     OF_MODELS},
    {"devices", "GPU and CPU, precision, threads, memory",
     "By default the network runs on a GPU in FP16 if there is a usable one, and otherwise on the CPU in FP32; reid "
     "doctor shows what is missing. Batch, threads, lanes and decoders never change a result; device and precision "
     "may, within the tolerances stated in the manual of reid.h. reid tune measures the fastest settings and writes "
     "them as a profile.",
     OF_DEVICES},
    {"databases", "galleries in PostgreSQL",
     "A database, PostgreSQL 15 or newer with pgvector 0.8.4 or newer, holds one gallery that many machines share. "
     "Give its address as for psql, postgresql://..., wherever a gallery is expected; psql's variables (PGHOST, "
     "PGPASSWORD, PGSSLMODE ...) and password files apply; connecting fails after 10 seconds per address, or after "
     "connect_timeout in the URL. Writers need not wait for each other: an id that another writer has just added is "
     "refused when it is stored. gallery create makes the tables. gallery sql prints the statements, for those who "
     "create tables by other means; gallery sql VERSION prints only what is newer than that version. The role "
     "reid_reader can search, reid_writer can also add and remove. compact runs VACUUM.\n\n"
     "push FILE URL stores a gallery file in a database, creating the gallery if there is none; equal templates are "
     "skipped, different ones with the same id are refused. It stores 4096 templates at a time in the file's order, so "
     "an interrupted push is continued by pushing again; the index of an empty database is built at the end. pull URL "
     "FILE writes the whole database to a new file, byte-identical to the pushed file if that file was compact.\n\n"
     "search in a database with more than 10000 templates asks its index (HNSW, in half precision) for the 200 nearest "
     "candidates of each query, computes their scores exactly, and asks for more until -k identities are among them. "
     "In smaller databases, and with --exact, --all or narrow filters, it compares all templates. The JSON has the "
     "number of candidates per query, and whether too few were found (\"too_few\"), which also causes a warning.\n\n"
     "reembed embeds the templates with another model (-m) while clients go on with the current one. Start it on as "
     "many machines as you like; each takes images that no other has claimed, from the paths by which they were added "
     "or below --root, and may be stopped or killed at any time. Templates that cannot be embedded are reported, kept "
     "with the reason and tried again by the next run; boxes are cut as when they were added; an image that has "
     "changed is refused. --status shows the progress, --compare what would change, --switch changes the gallery's "
     "model in one transaction once nothing is missing; --back returns to the previous model, --drop deletes one.",
     OF_COMMAND},
    {NULL, NULL, NULL, OF_COMMAND},
};

const command_table COMMAND_TABLE = {COMMANDS, GROUPS, TOPICS, START};
