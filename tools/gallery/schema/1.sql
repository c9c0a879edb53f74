-- A gallery of reid in PostgreSQL, version 1. Runs in one transaction; `reid gallery create` does that, or whoever looks
-- after the database, with the output of `reid gallery sql`. One database holds one gallery, in the schema "reid".
--
--   model ----< embedder >---- gallery         what the templates are embedded by, now and before
--     |
--     +-- embedding_<fingerprint> >---- template >---- identity
--
-- Needs pgvector 0.8.4 or newer: halves with HNSW came with 0.7.0, iterative scans with 0.8.0, and 0.8.4 mends searches
-- of an index that is being written.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA reid;

-- Which of these files have been run.
CREATE TABLE reid.schema_version (
    version int PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);
INSERT INTO reid.schema_version (version) VALUES (1);

-- A network with its weights, preset and head, known by the fingerprint that `reid inspect` prints. Its embeddings lie
-- in a table of their own, reid.embedding_<fingerprint>, so that vectors of two models cannot meet.
CREATE TABLE reid.model (
    model_id    int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE CHECK (fingerprint ~ '^[0-9a-f]{32}$'),
    network     text NOT NULL CHECK (octet_length(network) < 33),
    preset      text NOT NULL CHECK (octet_length(preset) < 33),
    precision   text NOT NULL CHECK (octet_length(precision) < 9),
    dim         int  NOT NULL CHECK (dim BETWEEN 1 AND 16000) -- of halfvec at most
);

-- One model, or an ensemble of two whose scores are combined. The threshold of the score belongs to it.
CREATE TABLE reid.embedder (
    embedder_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_a     int NOT NULL REFERENCES reid.model,
    model_b     int REFERENCES reid.model CHECK (model_b <> model_a),
    threshold   double precision CHECK (threshold <> 'NaN'), -- NULL: none
    UNIQUE NULLS NOT DISTINCT (model_a, model_b)
);

-- One row: what everybody searches with now, and what it was before the last switch.
CREATE TABLE reid.gallery (
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    embedder  int NOT NULL REFERENCES reid.embedder,
    previous  int REFERENCES reid.embedder CHECK (previous <> embedder),
    precision text NOT NULL CHECK (precision IN ('fp32', 'fp16')) -- of the rows that are kept
);

-- Names are compared byte by byte: what looks alike is not the same. Texts of any length are unique by their hash.
CREATE TABLE reid.identity (
    identity_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL,
    EXCLUDE USING hash (name WITH =)
);

-- A crop that was enrolled: where it was seen, and of which picture it is. Templates are in the order of template_id.
CREATE TABLE reid.template (
    template_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL CHECK (id <> ''),
    identity_id bigint NOT NULL REFERENCES reid.identity,
    camera      text COLLATE "C" NOT NULL DEFAULT '', -- '': unknown
    seen        timestamptz,                          -- NULL: unknown; milliseconds count
    source      text COLLATE "C" NOT NULL DEFAULT '', -- the picture's path
    source_size numeric(20) NOT NULL DEFAULT 0,       -- its bytes and their hash, 0: unknown
    source_hash numeric(20) NOT NULL DEFAULT 0,
    EXCLUDE USING hash (id WITH =)
);
CREATE INDEX template_identity ON reid.template (identity_id);
CREATE INDEX template_camera ON reid.template USING hash (camera);
CREATE INDEX template_seen ON reid.template (seen);
CREATE INDEX template_source ON reid.template (source_hash) WHERE source_hash <> 0;

-- Registers a model and makes its table: `half` is what HNSW searches, `row` what scores are computed from, in the
-- gallery's precision, little-endian. Cosine and inner product order unit vectors alike; the inner product is cheaper.
-- Floats do not compress, so that is not tried (EXTERNAL).
-- m = 16 and ef_construction = 128 are pgvector's default and twice its default. HNSW takes halves of up to 4,000
-- values; longer ones are searched exactly.
CREATE FUNCTION reid.add_model(fingerprint text, network text, preset text, "precision" text, dim int, kept text)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    id int;
    name text := 'embedding_' || fingerprint;
BEGIN
    SELECT m.model_id INTO id FROM reid.model m WHERE m.fingerprint = add_model.fingerprint;
    IF FOUND THEN
        RETURN id;
    END IF;
    INSERT INTO reid.model (fingerprint, network, preset, precision, dim)
        VALUES (fingerprint, network, preset, "precision", dim) RETURNING model_id INTO id;
    EXECUTE format('CREATE TABLE reid.%I (
        template_id bigint PRIMARY KEY REFERENCES reid.template ON DELETE CASCADE,
        half        halfvec(%s) NOT NULL,
        row         bytea NOT NULL CHECK (octet_length(row) = %s))',
        name, dim, dim * CASE kept WHEN 'fp16' THEN 2 ELSE 4 END);
    EXECUTE format('ALTER TABLE reid.%I ALTER COLUMN row SET STORAGE EXTERNAL', name);
    IF dim <= 4000 THEN
        EXECUTE format('CREATE INDEX %I ON reid.%I USING hnsw (half halfvec_ip_ops)
            WITH (m = 16, ef_construction = 128)', name || '_hnsw', name);
    END IF;
    RETURN id;
END $$;
