/* The commands: what each is called, does and shows in `reid help`. */
#include "cli/options.h"

const command COMMANDS[] = {
    {'e', "embed", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... INPUT... [-o OUT]", "pictures to embeddings",
     "Writes one row per picture: the vector that the network makes of it, of length 1, the two models' "
     "vectors side by side where there are two. Rows stand in the order of the inputs; an input that fails is "
     "named and has no row.\n\n"
     "INPUT is a picture, a folder (searched recursively in byte order of names for jpg, jpeg, png, bmp, tga, "
     "ppm, pgm, pnm; hidden names are left out) or - for a list on stdin. With --boxes, the file says which "
     "pictures, and INPUT may be the folder that its paths start from. Boxes count from the top left corner of "
     "the upright picture (after EXIF orientation). The rows of one picture are called path#0, path#1, ... by "
     "their place in the file.\n\n"
     "OUT.npy holds (rows, floats) as little-endian float32; OUT.ids.txt one id per row, with backslash and "
     "newline escaped as \\\\ and \\n; OUT.meta.json, written last, the models, fingerprints, identities and "
     "failures (beside OUT.csv it is called OUT.csv.meta.json, and so for .jsonl). The identity of a picture is "
     "the first folder below the folder given as INPUT, else its file name without extension. In JSON, bytes of a "
     "name that are not UTF-8 stand as \\udc80 to \\udcff, as Python's surrogateescape has them.\n\n"
     "16-bit PNG files are reduced to 8 bits a channel; alpha is dropped.",
     {"reid embed -m resnet50.safetensors crops/ -o crops.npy",
      "reid embed -m resnet50.safetensors --boxes detections.json --min-conf 0.2 photos/ -o deer.jsonl",
      "find crops -name '*.png' -print0 | reid embed -m resnet50.safetensors -0 - --shard 1/2 -o part1.csv"},
     embed_main},
    {'j', "merge", "SHARD... -o OUT", "the shards of a list to the files of one run",
     "Joins what reid embed --shard 1/N to N/N wrote, in any order, to the bytes that one run without --shard "
     "would have written: rows, OUT.ids.txt, OUT.meta.json. All have the same form, .npy, .jsonl or .csv.\n\n"
     "The shards must belong together: the same models (by fingerprint), precision, options and version, the same "
     "list of inputs (by its length and hash), every number from 1 to N once, and as many rows as their metadata "
     "say. Anything else is refused by name, and nothing is written. Inputs that failed are told as one run tells "
     "them, also by the exit status 1.",
     {"reid merge part1.npy part2.npy -o whole.npy", NULL, NULL},
     merge_main},
    {'m', "match", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... --gallery PATH QUERY...", "who is in the picture?",
     "Compares each QUERY (a picture, a folder, - for a list, or --boxes) with the gallery and lists the best "
     "identities with their scores. The score of a gallery picture is the cosine similarity to the query, or "
     "the weighted sum of the two models' cosines; the score of an identity is that of its best picture. Equal "
     "scores keep the gallery's order.\n\n"
     "In a gallery folder the identity is the first folder below it, or the name of a picture that lies "
     "directly in it. A gallery file must have been made with the same models, options and preprocessing: "
     "fingerprints are compared.\n\n"
     "A score means nothing until it is calibrated: one model has no default threshold, and strangers can "
     "score 0.9. Make --calibration from pictures of your own, or choose --threshold.",
     {"reid match -m resnet50.safetensors --gallery gallery/ query.png",
      "reid match -m resnet50.safetensors --gallery crops.npy --threshold 0.95 -k 3 --json crops/",
      "reid match -m resnet50.safetensors -m efficientnet_b0.safetensors --gallery gallery/ query.png"},
     match_main},
    {'g', "gallery", "PART FILE [OPTION]... [ARGUMENT]...",
     "known individuals, in a file or in PostgreSQL",
     "PART is create, add, remove, list, search, set, compact, verify, export, push, pull, sql or reembed; FILE is the "
     "gallery: a file, or a database, postgresql://...\n\n"
     "A gallery holds templates: an embedding with an id, an identity, and perhaps a camera, a time and the picture it "
     "came from. It knows by which model they were made, and refuses others.\n\n"
     "create makes an empty one. add takes pictures and folders (with -m, identities as in reid match), a list "
     "(--list), or files of embeddings (.npy, .fvecs, .jsonl, with their metadata); an id that is there already is an "
     "error; with --groups the crops in such files are named by what reid cluster and reid review found. remove takes "
     "ids, or identities with --identity. list prints id, identity, camera and time, separated by tabs. "
     "search takes pictures with -m, else a file of embeddings; it compares each with every template, exactly; "
     "templates of the query's own picture (same bytes, or for embeddings the same id) do not count. set changes the "
     "threshold. export writes what add reads.\n\n"
     "What add or remove reports is on disk: neither a crash nor a full disk loses it or leaves half of anything. "
     "Two that write at the same time wait for each other; reading waits for nobody. Every record has a checksum: "
     "verify names those that are damaged, compact --salvage keeps the others. compact rewrites the file without what "
     "was removed.\n\n"
     "A gallery remembers by which decoders the JPEG files behind it were decoded (--jpeg), which verify and export "
     "tell; whoever adds or compares pictures of another one is warned, because scores shift slightly.\n\n"
     "A database, PostgreSQL 15 or newer with pgvector 0.8.4 or newer, holds one gallery, which many machines share; "
     "it is named as psql names it, and so are its variables (PGHOST, PGPASSWORD, PGSSLMODE ...) and password files; "
     "--gallery takes it, too. Writers need not wait for each other: an id that somebody else adds meanwhile is "
     "refused when it is stored. create makes the tables, sql prints them for whoever does that instead, with a number "
     "only what is newer than that version. Who gets the role reid_reader can search, a reid_writer add and remove as "
     "well. compact runs VACUUM.\n\n"
     "push FILE URL stores a gallery file in a database, which gets a gallery where it has none; what is there already "
     "and equal is left alone, what differs is refused by its id. It stores 4096 templates at a time and in the file's "
     "order, so that a push that was interrupted is continued by pushing again; the index of an empty database is "
     "built when all are there. pull URL FILE writes all of a database to a new file, the same bytes that were pushed "
     "if that file was compact.\n\n"
     "search of a database with more than 10000 templates asks its index (HNSW, by halves) for the nearest 200 of each "
     "query and computes their scores exactly; it asks for more until -k identities are among them. Others it compares "
     "with all of them, as it does with files, and with --exact, --all or a filter that takes few. JSON tells the "
     "candidates of each query and whether too few were found among them (\"too_few\"), which is also a warning.\n\n"
     "reembed, in a database, embeds its templates by another model (-m) while everybody goes on with the old one: "
     "start it on as many machines as there are, also several times; each takes pictures that no other has, from the "
     "paths by which they were added or below --root, and they may be stopped or killed. What cannot be embedded is "
     "told, kept with its reason and tried again by the next run; a box is cut as it was when it was added, a picture "
     "that is not the same file any more is refused. --status says how far it is, --compare what would change, "
     "--switch changes the gallery's model in one transaction, when nothing is missing; --back returns to the one "
     "before, --drop forgets one.",
     {"reid gallery create deer.gallery -m resnet50.safetensors --fp16",
      "reid gallery add deer.gallery -m resnet50.safetensors gallery/",
      "reid gallery search deer.gallery -m resnet50.safetensors -k 3 query.png"},
     gallery_main},
    {'l', "eval", "[-m WEIGHTS]... [OPTION]... [FOLDER] [FILE.npy]...",
     "how well are individuals told apart?",
     "Compares every query with every gallery picture and measures the rankings. Pictures are embedded with -m, "
     "or their embeddings come from a file of reid embed, from two files (queries, gallery).\n\n"
     "FOLDER is Market-1501 or DukeMTMC-reID (query/ and bounding_box_test/; identity and camera are in the "
     "names), MSMT17 (list_query.txt and list_gallery.txt), query/ and gallery/ with a folder per identity in "
     "each, or a folder per identity: then every picture is a query against all others. --labels gives the same "
     "as a table. In names, identity -1 is junk and left out, 0000 a distractor.\n\n"
     "Ranking: rank-1, 5 and 10 (CMC), mAP as torchreid and fast-reid have it, and with the trapezoid rule over "
     "all queries as layumi's baseline has it, mINP. Queries without a match count in the latter mAP only. Pairs: "
     "the share of genuine pairs accepted where a given share of impostor pairs is (fast-reid prints the "
     "converse, impostors refused for genuine pairs refused), area under the curve, equal error rate; scores are "
     "counted in 1048576 steps. New individuals: a query is known when the gallery has a picture of its identity "
     "left; BAKS and BAUS are the mean accuracies over known and new identities. ARI compares the queries, "
     "clustered by single linkage at a threshold, with their identities. Without --threshold the best threshold "
     "for these very pictures is taken, which flatters. With --rerank, scores are minus the new distances.\n\n"
     "Intervals hold 95 % and come from drawing identities, not pictures. --compare is the check that belongs to "
     "every faster precision: it fails when rank-1 or mAP loses more than --limit points against the first, or when "
     "one picture's embedding is no longer what it was (--least-cosine), which means over many pictures hide; "
     "\"uncertain\" means that the interval reaches across the limit.\n\n"
     "The exit status is 1 when labelled pictures failed or --compare failed.",
     {"reid eval crops.npy", "reid eval -m resnet50.safetensors --rerank Market-1501-v15.09.15",
      "reid eval -m resnet50.safetensors --compare cpu/fp32,cpu --json gallery/"},
     eval_main},
    {'t', "calibrate", "[-m WEIGHTS]... [OPTION]... [FOLDER] [FILE.npy]...", "what does a score mean?",
     "Learns from labelled pictures what the scores of these models mean: where pairs of one individual and of "
     "two cross, the equal error rate, the threshold for a chosen false-match rate, and the probability that a "
     "score is of one individual. Of two models it also fits the weights. FOLDER and --labels are as in reid eval; "
     "--pairs gives single pairs instead. Intervals hold 95 % and come from drawing identities, not pairs.\n\n"
     "Use pictures of individuals that are not in your gallery and were not used in training, taken as the later "
     "ones will be. Rates are of pairs: a stranger who meets a thousand gallery pictures gets a thousand chances. "
     "Of each kind about 2000000 pairs are drawn where there are more.\n\n"
     "The probability holds where a share --prior of the compared pairs is of one individual; in a search through "
     "a large gallery that share is far below one half.\n\n"
     "OUT is for reid match --calibration, which refuses it for any other model, head or preprocessing.\n\n"
     "--int8 is another calibration: INPUT are pictures as for reid embed, a few hundred like those to come and "
     "without labels. The network runs on them in FP32, and each of its activations gets the range with the least "
     "mean squared error of rounding and clipping to 8 bits (Nagel et al., \"A White Paper on Neural Network "
     "Quantization\", 3.1, by a histogram of 16384 bins). The ranges belong to these weights, preset and size. At the "
     "end it tells the cosine between INT8's and FP32's embeddings of every fifth picture, which is held out for that "
     "where there are ten or more; what INT8 costs in accuracy says reid eval --compare fp32,int8.",
     {"reid calibrate crops.npy --fmr 0.01 -o score.json", "reid calibrate -m resnet50.safetensors --fmr 0.01 crops/",
      "reid calibrate crops.npy --pairs pairs.csv --fmr 0.1 --json"},
     calibrate_main},
    {'i', "inspect", "[OPTION]... WEIGHTS [PICTURE]...", "what is in a weight file?",
     "Shows the network that was recognised, its head, preprocessing, size and cost, which tensors are used, "
     "missing or unknown, the fingerprint of the embeddings it makes, and how it would run on this machine. A "
     "file that cannot be used still gets its tensor report, then the reason; the exit status is then 2.\n\n"
     "--condition takes pictures, too, and says what precision they need: activations beyond 65504 overflow in FP16, "
     "and where a network magnifies a change of its input a hundredfold, even two programs in FP32 do not agree to "
     "1e-5. The change is one millionth of every pixel's value, more in red and blue, less in green; growth is the "
     "distance of the two embeddings over it, FP32's own rounding included.",
     {"reid inspect resnet50.safetensors", "reid inspect --plan --size 256x128 resnet50.safetensors",
      "reid inspect --tensors --json efficientnet_b0.safetensors"},
     inspect_main},
    {'b', "bench", "-m WEIGHTS [OPTION]...", "how fast is it here?",
     "Times reid_embed on noise of the network's input size, in memory: the whole call, and beside it the sum of the "
     "operations alone, each timed by itself (by the GPU's own clock there). Every figure is the median of --rounds "
     "timings after a warm-up; a round is one call, or as many as take 10 ms.\n\n"
     "The ceilings of a CPU are measured in the same run, on all threads together: multiply-adds that stay in "
     "registers, and a copy larger than the caches, bytes read plus bytes written. No network reaches them. An "
     "operation is bound by memory when its bytes at that bandwidth take longer than its multiply-adds; bytes are "
     "counted as if each activation went to memory once and the weights once a batch, so small ones that stay in a "
     "cache can pass 100 %.\n\n"
     "A first start on a GPU compiles kernels; later ones find them in the cache (REID_CACHE_DIR). A model of the chip "
     "chooses how Hopper's convolutions are cut into tiles, until --tune has measured them for this network, input "
     "size and precision; it takes minutes, as every kernel is compiled in up to 18 ways. Embeddings keep their bits.",
     {"reid bench -m resnet50.safetensors --batches 1,8 --rounds 5",
      "reid bench -m resnet50.safetensors --size 256x128 --batches 4 --ops --rounds 3 --output bench.json",
      "reid bench -m efficientnet_b0.safetensors --batches 1 --start 2 --rounds 3"},
     bench_main},
    {'p', "pack", "-m WEIGHTS|--net NAME [OPTION]... -o FILE", "GPU kernels compiled ahead of time",
     "Compiles every kernel that the network needs on one kind of GPU and writes them to one file, for --pack and for "
     "desc.kernels_pack: the machine that runs the network then needs no NVRTC and starts without compiling. This "
     "needs NVRTC, but no GPU. Network, input size, precision, largest batch, --latency, --flip and --raw must be "
     "those of the later use. For int8 the kernels of FP32 are there, too, unless --no-fallback is given. "
     "--chip is the compute capability, sm_90 for an H100 or H200, sm_89 for an RTX 40.",
     {"reid pack --net resnet50 --chip sm_90 -o resnet50.sm_90", NULL, NULL}, pack_main},
    {'c', "convert", "[OPTION]... IN [OUT.safetensors]", "a checkpoint of PyTorch to safetensors",
     "IN is a .pth, .pt or .bin file of torch.save (any version; a state_dict, a training checkpoint around one, or a "
     "whole pickled model), .safetensors, .onnx, or the text form .wts. Nothing in it is executed. Tensors get "
     "torchvision's names; known layouts are torchvision, timm, torchreid, fast-reid, strong-baseline, layumi, "
     "EfficientNet-PyTorch and Sequential(*children()), behind any prefix. Values stay as they are, bit for bit.\n\n"
     "The account tells what became of every tensor: used, missing, reshaped (only sides of length 1 differ, or the "
     "file has no shapes), carried (classifier and counters, which PyTorch wants back), dropped (what only training "
     "needs), neck (a layer that changes the embedding and that the network here does not have), unknown, mismatched. "
     "A neck or an unknown tensor is refused unless --allow-unused leaves it out. Without OUT there is only the "
     "account.\n\n"
     "In an ONNX file tensors are known by what is computed with them: node by node its convolutions must be those of "
     "a network here, with their strides, padding and activations. Batch norms may have been joined with them.\n\n"
     "--head makes layers of your own the head. A last layer that is not 1000 wide may be one: it is named, and left "
     "out unless --head says so.\n\n"
     "OUT appears whole or not at all, and is checked as reid embed would: names, shapes, values. Its metadata name "
     "the network, and the preset and layer4's stride where an option, the file or its origin says.",
     {"reid convert resnet50.pth resnet50.safetensors",
      "reid convert --preset torchreid --last-stride 1 checkpoint.pth reid.safetensors",
      "reid convert --json -v checkpoint.pth"},
     convert_main},
    {'f', "fit", "-m WEIGHTS [OPTION]... [FOLDER] [FILE.npy] [-o OUT]",
     "a head for your individuals, from labelled crops",
     "Computes the last linear layer of a network from crops whose individuals are known, in closed form: minutes on a "
     "CPU, no training. OUT is the weight file of -m with that head: reid embed -m OUT makes embeddings in which the "
     "individuals of your kind are further apart, also new ones. FOLDER and --labels are as in reid eval; FILE.npy "
     "holds embeddings of these weights by reid embed --raw --head none, which saves computing them again.\n\n"
     "ResNet-50 gets 512 dimensions (the result is of network resnet50-layumi), an EfficientNet its projection of 512; "
     "of resnet50-multiscale all four layers are fitted (--net resnet50-multiscale takes any ResNet-50), from pictures "
     "alone. Others end with layers of their own.\n\n"
     "The directions, of the principal components of the crops: lda separates the means of individuals most, for how "
     "much the crops of one differ, and has one direction fewer than there are individuals; within takes the spread of "
     "all crops in place of the means, so that it has more directions; pca only makes all components vary alike. "
     "Shrinkage and method are those that find most individuals who took no part, in five turns; so are the shares of "
     "the four layers.\n\n"
     "At least four individuals need two crops or more; dozens are what it takes, taken as the later ones will be. "
     "Whether it helps says --report, which fits without the individuals that it judges by; of a FILE.npy it needs no "
     "-m. Scores mean something else behind another head: calibrate anew, with individuals that took no part. The same "
     "crops give the same bits, whatever the threads.",
     {"reid fit -m efficientnet_b0.safetensors crops/ --report --holdout 0.5 -o fitted.safetensors",
      "reid fit raw.npy --report --json",
      "reid fit -m resnet50.safetensors --method lda --shrinkage 0.1 crops/ -o lda.safetensors"},
     fit_main},
    {'s', "serve", "-m [NAME=]WEIGHTS [-m [NAME2=]WEIGHTS2] [OPTION]...", "embeddings and matches for many clients",
     "Answers requests over HTTP until it is told to stop. Images of all clients are computed together, in batches; "
     "an embedding is the same, bit for bit, as that of reid embed. Listens on a Unix socket that only you can "
     "connect to, or where --socket and --listen say, which it tells in one line on stderr when it is ready.\n\n"
     "A model is called NAME, else like its file without folder and extension. POST /embed takes one picture as its "
     "body and answers {\"fingerprint\": ..., \"embeddings\": [[...]]}: one row, or one for each ?box=x,y,w,h, in "
     "pixels of the upright picture; model=NAME says which of two. POST /match takes the same and asks the "
     "--gallery, with the models weighed as in reid match; top=N. Both take priority=0 (first) to 7, 3 is usual, "
     "and timeout= in microseconds.\n\n"
     "/v2/... is the Open Inference Protocol (KServe v2, as of Triton): /v2/models/NAME/infer with one input, image "
     "(BYTES, n encoded pictures; base64 in JSON) or pixels (UINT8, n x height x width x 3), to the output "
     "embedding (FP32), as JSON or with the binary extension; parameters are priority and timeout. /metrics is for "
     "Prometheus, / says the same in short.\n\n"
     "Errors are {\"error\": ...}: 400, 404, 405, 411, 413 and 415 name what is wrong, 401 wants the token, 408 says "
     "that the request came too slowly, 503 that too much is waiting and when to come again, 504 that the time was up. "
     "Whoever hangs up is no longer computed for. What cannot be read as HTTP, or has over 64 KiB of headers, is "
     "refused by libmicrohttpd before the server sees it: with a status of 4xx or 505 and a page in HTML, or without a "
     "word; then the connection is closed. So is one on which no request begins within --idle. Chunked and compressed "
     "bodies are refused, and so are forms of several parts and shared memory.\n\n"
     "TCP is for this machine, unless there is a token. There is no TLS: that is the job of a proxy in front, which "
     "talks to the Unix socket.\n\n"
     "On SIGTERM or Ctrl-C /v2/health/ready answers 503, new requests are refused, accepted ones are finished; then "
     "it exits with 0. A second signal ends it at once.",
     {"reid serve -m efficientnet_b0.safetensors",
      "reid serve -m deer=efficientnet_b0.safetensors --gallery gallery/ --listen 127.0.0.1:0"},
     serve_main},
    {'w', "worker", "-m [NAME=]WEIGHTS [-m [NAME2=]WEIGHTS2] [OPTION]...", "the same for the program that starts it",
     "Answers what reid serve answers, for one program: requests come as frames on stdin, answers go as frames to "
     "stdout, and there is nothing else on stdout. Any number of requests may be on their way; images of all are "
     "computed together, and each is answered when it is done. A client therefore reads while it writes, and knows an "
     "answer by its id. examples/python/worker_client.py is one.\n\n"
     "A frame is two 32-bit little-endian numbers, the bytes of its header (1 to 1048576) and those of its body, then "
     "the header, a JSON object, then the body. A request's header has:\n\n"
     "\"ask\": \"embed\" (the body is a picture, as of POST /embed), \"match\" (likewise, as of POST /match), "
     "\"infer\" (the body is that of /v2/models/NAME/infer), \"stats\" (no body; the model's counters, or all "
     "models') or \"model\" (no body; what the model is).\n\n"
     "\"id\": a string or a number, which the answer has, too. Two requests on their way should not have the same.\n\n"
     "\"model\": NAME, where there are two; not for match, which asks all. \"boxes\": [[x, y, width, height], ...], "
     "\"priority\": 0 (first) to 7, 3 is usual, and \"timeout\" in microseconds are for embed and match (infer has "
     "the latter two in its JSON); \"top\": N for match; \"binary\": true for embed: rows as bytes. \"json\": of "
     "infer's body, the bytes that are JSON, before those of the binary extension; without it, all are.\n\n"
     "An answer's header is {\"id\": ..., \"status\": ..., \"json\": N}; id is null when the request had none that "
     "could be read. The first N bytes of its body are the JSON that reid serve answers, {\"error\": ...} unless the "
     "status is 200. With \"binary\" it is {\"fingerprint\": ..., \"shape\": [n, d]}, and n x d little-endian float32 "
     "follow it; so they do after infer's JSON when its outputs are binary. The status is HTTP's number: 400 and 404 "
     "name what is wrong, 413 is too large, 500 failed, 503 too much at once, 504 too late.\n\n"
     "When as many requests as --limit are worked on, or requests and unread answers hold four times --max-body, no "
     "more is read until there is room: the pipe fills, and whoever writes waits. A body over --max-body is read past "
     "and answered with 413.\n\n"
     "After the end of stdin, what was read is answered, then it exits; after SIGTERM it reads no further and does "
     "the same within --drain. It ends at once when nobody reads stdout any more, so a child does not outlive its "
     "parent.\n\n"
     "Exit status: 0, all is answered (failed inputs are told in their answers). 75, try again: the GPU is lost or "
     "was in use, no memory, stdout is full or closed, requests were given up. 2, do not: wrong options or weights, "
     "or stdin had something that is no frame, or ended inside one (what came before it was answered).",
     {"reid worker -m efficientnet_b0.safetensors <requests.frames >answers.frames", NULL, NULL}, worker_main},
    {'u', "cluster", "[OPTION]... INPUT... [-o OUT]", "which crops show the same individual, without names",
     "INPUT are files of embeddings (reid embed) and galleries, all by the same models. Every crop begins as a group "
     "of its own; the two groups with the highest mean score between their crops are joined, again and again, down to "
     "the threshold. That is average linkage, exactly, with the scores of reid match; no pair is passed over.\n\n"
     "The output has a row for each crop, in the order of the inputs: id, group, name, the mean score with the rest of "
     "its group, status, suggested. Groups are numbered from 0; with --carry or --add they keep the numbers of an "
     "earlier output. Under --add the status is known (it was there), joined (a new crop of a known group), suggested "
     "(column suggested: for which group) or new. The JSON has the groups with their crops and every join with its "
     "score.\n\n"
     "What people decided (--decisions), pictures (--same-frame) and tracks (--tracks) come before scores. When they "
     "contradict each other, the message names the chain and nothing is written. With -o, stdout has a summary, and "
     "how well the groups agree with labels, where there are any.\n\n"
     "--count tells how many individuals there are, whatever the scores are worth: people compare a sample of crops "
     "with some others each (reid review --count asks them), and from their answers comes an estimate with a 95 % "
     "interval. What is asked depends on the crops, what their scores mean, and the seed, never on answers; a crop "
     "counts when all of its questions have one. Poor scores make the interval wide, or more questions necessary, "
     "which is said: then the exit status is 1.",
     {"reid cluster crops.npy --threshold 0.8 -o groups.csv",
      "reid cluster crops.npy --threshold 0.8 --same-frame --decisions decisions.jsonl --carry groups.csv -o again.csv",
      "reid cluster crops.npy --threshold 0.8 --explain crops/1/1.png crops/2/1.png"},
     cluster_main},
    {'k', "track", "[OPTION]... VIDEO|FOLDER... --detections FILE -o DIR",
     "videos and bursts of photos to tracks, best frames and individuals",
     "Reads each video once, with ffmpeg, follows the boxes that a detector has found in it from frame to frame, keeps "
     "the best frames of every track (sharp, large, whole, not covered) and embeds what is in their boxes. Tracks that "
     "broke are joined when the embeddings say so and time and place allow it; then individuals are found as by reid "
     "cluster: the crops of a track are one, tracks that share a frame are not.\n\n"
     "DIR gets tracks.json (videos, their scenes, tracks with their groups and best frames), tracks.txt (MOT text), "
     "embeddings.npy with its ids and metadata, crops/ with a PNG for each row, and tracks.html to look at. Of several "
     "videos the text and the page are called like each video, and --detections has to say which boxes belong to "
     "which. Rows are those of reid embed for the same frames and boxes, and so are those of the crops.\n\n"
     "A track that was joined has the best frames of each of its parts. Frames are all those that the file has, "
     "upright, at their own times, whatever the rate. Of a video that is damaged or ends early, what can be read "
     "counts; the rest is named. Detections that do not fit the video are refused. Exit status: 0, 1 when a video is "
     "incomplete or a crop failed, 2 when nothing was written.\n\n"
     "A FOLDER holds photos of camera traps: each folder in it with photos is a camera, and photos that follow each "
     "other within --burst are followed as the frames of a video are. When they were taken is EXIF's DateTimeOriginal, "
     "or what --times says; a photo without a time stands alone. Detections are found by the photos' names: "
     "MegaDetector's JSON, COCO, or CSV with path,x,y,width,height and perhaps score, category.\n\n"
     "DIR appears whole, at the end. Until then the work is in DIR.part, where every video that is finished is noted "
     "with its rows: of a run that was interrupted or killed, --resume does the rest, and the result has the bytes of "
     "one run. A video in the middle is read from its beginning. Other inputs, models or options are refused.",
     {"reid track film.mkv --detections film.txt -m w.safetensors --threshold 0.8 -o tracks", NULL, NULL}, track_main},
    {'r', "review", "[OPTION]... INPUT... --decisions FILE", "people say who is the same, on a page in the browser",
     "INPUT are files of embeddings (reid embed) and galleries. Their crops are grouped as by reid cluster, and a "
     "page in the browser shows the groups, after the pairs that are most in doubt, one question at a time: the "
     "same, different, not a crop; names; splitting a group; undo. All of it goes by keyboard and by touch, and ? "
     "lists the keys. The page's address is the one line on stdout. It is on this machine only, and whoever does "
     "not know the address cannot ask it; Ctrl-C ends it.\n\n"
     "Every answer is a line in --decisions, on disk before the page goes on. The file is only ever added to, also "
     "by an undo; several pages and programs may do so at a time. Of two decisions about one pair the later one "
     "holds. One that contradicts others is refused with the chain that it contradicts. reid cluster --decisions "
     "heeds them.\n\n"
     "Groups and questions follow the answers: they are computed anew from all of them in the background, by itself "
     "where that takes less than a second and when no question is left, else when R is pressed. The question that is "
     "shown stays until it is answered.\n\n"
     "Pictures are read from where ids say, small ones are made when they come into view. --html writes a page "
     "with all of them inside, to be passed on, whose groups cannot be computed anew; decisions that are made in it "
     "are saved as a file, and --import adds that to a journal: what is there already is not added again.\n\n"
     "With --count the pairs are those from which reid cluster --count tells how many individuals there are.",
     {"reid review crops.npy --threshold 0.8 --decisions decisions.jsonl",
      "reid review crops.npy --threshold 0.8 --decisions decisions.jsonl --html review.html",
      "reid review --import saved.jsonl --decisions decisions.jsonl"},
     review_main},
    {'d', "doctor", "[-m WEIGHTS]... [--gallery PATH] [OPTION]...", "what can this machine do, and what does it lack?",
     "Looks at what reid uses and finds at run time, a line each: how bad it is, what it is about, what was found and "
     "what helps. The processor and its fast kernels, by a self-test of about a second against an embedding of "
     "PyTorch's; CPUs, affinity and the container's quota; memory; disk; GPU, driver, NVRTC, NVML and the folder that "
     "keeps compiled kernels, which only you may write to; libturbojpeg, libpq, libmicrohttpd, ffmpeg.\n\n"
     "With -m the models are opened as other commands would; with --gallery (a folder, a file or a database) and "
     "--calibration also these, and whether they belong to the models.\n\n"
     "\"good\" needs nothing, a \"note\" is about what only some work needs, a \"warning\" about what works worse "
     "than it could, an \"error\" about what was asked for and cannot work. The exit status is 0 when there is nothing "
     "worse than a note, 1 after warnings, 2 after errors.",
     {"reid doctor", "reid doctor -m resnet50.safetensors --gallery crops.npy --threshold 0.9 --json", NULL},
     doctor_main},
    {'n', "tune", "-m WEIGHTS [-m WEIGHTS2] [OPTION]... INPUT... [-o FILE]", "which settings are fastest here?",
     "Measures, with these models and pictures and on this machine, how many decoders, threads and pictures in a batch "
     "are best, explains the choice in a table, fastest first and with an arrow at the choice, and writes it as a "
     "template, which other commands take with --template FILE. INPUT is as for reid embed, a hundred pictures like "
     "those to come. What is given as an option (--threads 4) is not varied.\n\n"
     "It starts with all CPUs and the batch that the library would take, goes on to better neighbours, and compares "
     "the best of them in turns. Of settings that differ by less than 1 % the one with the fewest threads wins. Where "
     "memory may end (on a GPU, with --memory), the largest batch is found first, by doubling, and by halving where "
     "there is no memory. GIB is the memory of the models and of pictures on their way. Other programs disturb: on a "
     "busy machine the choice may be wrong; a quiet one, or more --seconds, helps.\n\n"
     "A template is a text of lines KEY = VALUE: device, batch, threads, lanes, decoders, memory. None of them changes "
     "an embedding but the device, which may have another precision.",
     {"reid tune -m resnet50.safetensors --seconds 2 crops/ -o here.template",
      "reid embed -m resnet50.safetensors --template here.template crops/ -o crops.npy", NULL},
     tune_main},
    {'h', "help", "[COMMAND]", "this help, or that of a command", "", {NULL, NULL, NULL}, help_main},
    {'v', "version", "", "the version of the command and its library", "", {NULL, NULL, NULL}, version_main},
    {0, NULL, NULL, NULL, NULL, {NULL, NULL, NULL}, NULL},
};
