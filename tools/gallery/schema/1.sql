-- A gallery of reid in PostgreSQL, version 1. Run it in one transaction: `reid gallery create` does that, or the
-- administrator of the database, with the output of `reid gallery sql`. One database holds one gallery, in the schema
-- "reid".
--
--   model ----< embedder >---- gallery         the models that embed the templates, now and before
--     |
--     +-- embedding_<fingerprint> >---- template >---- identity
--
--   decision                                 what people decided about crops, whatever the models
--
-- Needs pgvector 0.8.4 or newer: halves with HNSW came with 0.7.0, iterative scans with 0.8.0, and 0.8.4 fixes searches
-- of an index that is being written.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA reid;

-- Which of these files have been run.
CREATE TABLE reid.schema_version (
    version int PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);
INSERT INTO reid.schema_version (version) VALUES (1);

-- A network with its weights, preset and head, known by the fingerprint that `reid inspect` prints. Its embeddings have
-- a table of their own, reid.embedding_<fingerprint>, so that vectors of two models are never mixed.
CREATE TABLE reid.model (
    model_id    int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE CHECK (fingerprint ~ '^[0-9a-f]{32}$'),
    network     text NOT NULL CHECK (octet_length(network) < 33),
    preset      text NOT NULL CHECK (octet_length(preset) < 33),
    precision   text NOT NULL CHECK (octet_length(precision) < 9),
    dim         int  NOT NULL CHECK (dim BETWEEN 1 AND 16000), -- the limit of halfvec
    jpeg        text[] NOT NULL DEFAULT '{}' CHECK (cardinality(jpeg) < 5) -- see add_decoders
);

-- One model, or an ensemble of two whose scores are combined. The threshold for scores is stored with it.
CREATE TABLE reid.embedder (
    embedder_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_a     int NOT NULL REFERENCES reid.model,
    model_b     int REFERENCES reid.model CHECK (model_b <> model_a),
    threshold   double precision CHECK (threshold <> 'NaN'), -- NULL: none
    UNIQUE NULLS NOT DISTINCT (model_a, model_b)
);

-- One row: the embedder that all clients search with now, and the one before the last switch.
CREATE TABLE reid.gallery (
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    embedder  int NOT NULL REFERENCES reid.embedder,
    previous  int REFERENCES reid.embedder CHECK (previous <> embedder),
    precision text NOT NULL CHECK (precision IN ('fp32', 'fp16')) -- of the rows that are kept
);

-- The database compares names byte by byte; reid asks for the spellings of a name that Unicode can write in several
-- ways, and keeps the first. The constraint uses hashes, so that texts may have any length.
CREATE TABLE reid.identity (
    identity_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL CHECK (name <> ''),
    EXCLUDE USING hash (name WITH =)
);

-- An enrolled crop: where and when it was seen, and its image file. Templates are in the order of template_id.
CREATE TABLE reid.template (
    template_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL CHECK (id <> ''),
    identity_id bigint NOT NULL REFERENCES reid.identity,
    camera      text COLLATE "C" NOT NULL DEFAULT '',   -- '': unknown
    seen        timestamptz CHECK (isfinite(seen)),     -- NULL: unknown; to the millisecond
    source      text COLLATE "C" NOT NULL DEFAULT '',   -- the path of the image
    source_size bigint NOT NULL DEFAULT 0 CHECK (source_size >= 0), -- size of the image file in bytes; 0: unknown
    source_hash bigint NOT NULL DEFAULT 0,              -- the 64 bits of their hash, as a signed number
    EXCLUDE USING hash (id WITH =)
);
CREATE INDEX template_identity ON reid.template (identity_id);
CREATE INDEX template_camera ON reid.template (left(camera, 100)); -- no hash index: a camera has many rows
CREATE INDEX template_seen ON reid.template (seen);
CREATE INDEX template_source ON reid.template (source_hash) WHERE source_hash <> 0;

-- What people decided about crops (`reid review`), in order: each row is a line of a decision file, with its checksum.
-- Rows are only ever added; withdrawing a decision adds another row. The type is json, not jsonb, because it keeps the
-- bytes of a line, and because file names that are not UTF-8 are written with lone surrogates.
CREATE TABLE reid.decision (
    seq  bigint PRIMARY KEY CHECK (seq > 0), -- 1, 2 and so on without a gap; as in the line
    line json NOT NULL CHECK (octet_length(line::text) < 1048576)
);

-- The last commit of each writer, as a random token: a writer that loses the connection during a COMMIT finds out here
-- whether it took effect. The writer's next commit deletes the token.
CREATE TABLE reid.stored (
    token uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    at    timestamptz NOT NULL DEFAULT now()
);

-- Re-embedding: `reid gallery reembed` fills the tables of another embedder while clients continue to search with the
-- gallery's. Each such command is a worker. A worker without a heartbeat for longer than its lease counts as dead;
-- the first worker that notices deletes its row and its claims.
CREATE TABLE reid.worker (
    worker_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    embedder_id int NOT NULL REFERENCES reid.embedder ON DELETE CASCADE,
    name        text NOT NULL, -- its machine and process, for people
    started     timestamptz NOT NULL DEFAULT now(),
    beat        timestamptz NOT NULL DEFAULT now(), -- its last heartbeat
    lease       interval NOT NULL,
    made        bigint NOT NULL DEFAULT 0, -- templates that it embedded; failed: that it could not
    failed      bigint NOT NULL DEFAULT 0
);

-- The templates that a worker is embedding now. Only the transaction that deletes a claim may write the rows, so each
-- is written once, even if a worker that was taken for dead continues.
CREATE TABLE reid.claim (
    template_id bigint REFERENCES reid.template ON DELETE CASCADE,
    embedder_id int REFERENCES reid.embedder ON DELETE CASCADE,
    worker_id   bigint NOT NULL REFERENCES reid.worker ON DELETE CASCADE,
    PRIMARY KEY (template_id, embedder_id)
);
CREATE INDEX claim_worker ON reid.claim (worker_id);

-- Templates that could not be embedded again, and why. Workers that start later try once more.
CREATE TABLE reid.failure (
    template_id bigint REFERENCES reid.template ON DELETE CASCADE,
    embedder_id int REFERENCES reid.embedder ON DELETE CASCADE,
    why         text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (template_id, embedder_id)
);

-- Begins a change of templates or of the threshold, in the transaction that makes it. `embedder` must still be the
-- gallery's. Writers share the lock; a client that changes the row of `gallery`, or deletes unused identities, holds it
-- alone, with pg_advisory_xact_lock(1919248740, 1). Returns the token of the transaction. Deletes the token of the
-- writer's last transaction, whose outcome it knows, and fails if that is missing: a server that crashed behind a
-- connection pool may have lost commits that did not wait for the disk.
CREATE FUNCTION reid.writing(embedder int, last_one uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    ours uuid;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1919248740, 1);
    PERFORM FROM reid.gallery g WHERE g.embedder = writing.embedder;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the gallery has been switched to other models in the meantime'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    DELETE FROM reid.stored WHERE token = last_one;
    IF last_one IS NOT NULL AND NOT FOUND THEN
        RAISE EXCEPTION 'the server has lost the last commit' USING ERRCODE = 'RD001';
    END IF;
    INSERT INTO reid.stored DEFAULT VALUES RETURNING token INTO ours;
    RETURN ours;
END $$;

-- Notes the decoders of the JPEG files behind a model's embeddings, because different decoders shift scores. Call it in
-- the transaction that stores the embeddings. If the row already has the names, no client waits for it.
CREATE FUNCTION reid.add_decoders(fingerprint text, names text[]) RETURNS void LANGUAGE sql AS $$
    UPDATE reid.model m SET jpeg = ARRAY(SELECT DISTINCT n COLLATE "C" FROM unnest(m.jpeg || names) AS n ORDER BY 1)
    WHERE m.fingerprint = add_decoders.fingerprint AND NOT m.jpeg @> names
$$;

-- Rights: a reid_reader can search; a reid_writer can also add and remove templates and set the threshold; models and
-- tables belong to the creator of the gallery. Roles belong to the whole server, and not every user may create them: if
-- they are created later, call this function again, as add_model does for new tables.
CREATE FUNCTION reid.grant_roles() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    who text;
    tables text;
BEGIN
    FOR who IN SELECT rolname FROM pg_roles WHERE rolname IN ('reid_reader', 'reid_writer') LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA reid TO %I', who);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA reid TO %I', who);
    END LOOP;
    IF to_regrole('reid_writer') IS NULL THEN
        RETURN;
    END IF;
    SELECT string_agg(format('reid.%I', 'embedding_' || fingerprint), ', ') INTO tables FROM reid.model;
    EXECUTE 'GRANT INSERT, DELETE ON reid.template, reid.identity, reid.stored' || coalesce(', ' || tables, '')
        || ' TO reid_writer';
    GRANT INSERT ON reid.decision TO reid_writer;
    GRANT UPDATE (threshold) ON reid.embedder TO reid_writer;
    GRANT UPDATE (jpeg) ON reid.model TO reid_writer;
    GRANT INSERT, UPDATE, DELETE ON reid.worker, reid.claim, reid.failure TO reid_writer;
    GRANT UPDATE (source) ON reid.template TO reid_writer; -- without it, claiming could not skip locked rows
    GRANT USAGE ON SEQUENCE reid.template_template_id_seq TO reid_writer; -- numbers for rows that are copied in
END $$;

DO $$
DECLARE
    who text;
BEGIN
    FOREACH who IN ARRAY ARRAY['reid_reader', 'reid_writer'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', who);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE WARNING 'you may not create the role %; once it exists, call reid.grant_roles()', who;
        END;
    END LOOP;
    PERFORM reid.grant_roles();
END $$;

-- The schema of pgvector.
CREATE FUNCTION reid.vectors() RETURNS name STABLE LANGUAGE sql AS
$$ SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector' $$;

-- Builds the index of a model's table if it is missing; of several callers, one builds it. HNSW takes halves of up to
-- 4,000 values; longer ones are searched exactly. Cosine and inner product order unit vectors alike; the inner product
-- is cheaper. m = 16 and ef_construction = 128 are pgvector's default and twice its default.
CREATE FUNCTION reid.add_index(fingerprint text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := 'embedding_' || fingerprint;
BEGIN
    IF (SELECT m.dim > 4000 FROM reid.model m WHERE m.fingerprint = add_index.fingerprint) THEN
        RETURN;
    END IF;
    EXECUTE format('LOCK TABLE reid.%I IN SHARE ROW EXCLUSIVE MODE', name);
    IF to_regclass(format('reid.%I', name || '_hnsw')) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE INDEX %I ON reid.%I USING hnsw (half %I.halfvec_ip_ops)
        WITH (m = 16, ef_construction = 128)', name || '_hnsw', name, reid.vectors());
END $$;

-- Registers a model and creates its table: HNSW searches `half`; scores are computed from `row`, which has the
-- gallery's precision (kept: fp32 or fp16), little-endian. Floats do not compress, so compression is off (EXTERNAL),
-- and rows that fit a page stay in it.
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
    INSERT INTO reid.model (fingerprint, network, preset, "precision", dim)
        VALUES (fingerprint, network, preset, "precision", dim) RETURNING model_id INTO id;
    EXECUTE format('CREATE TABLE reid.%I (
        template_id bigint PRIMARY KEY REFERENCES reid.template ON DELETE CASCADE,
        half        %I.halfvec(%s) NOT NULL,
        row         bytea NOT NULL CHECK (octet_length(row) = %s)) WITH (toast_tuple_target = 8160)',
        name, reid.vectors(), dim, dim * CASE kept WHEN 'fp16' THEN 2 ELSE 4 END);
    EXECUTE format('ALTER TABLE reid.%I ALTER COLUMN row SET STORAGE EXTERNAL', name);
    PERFORM reid.add_index(fingerprint);
    PERFORM reid.grant_roles();
    RETURN id;
END $$;

-- Deletes an embedder that is not the gallery's, and the embeddings of its models that no other embedder uses.
CREATE FUNCTION reid.drop_embedder(embedder int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    UPDATE reid.gallery g SET previous = NULL WHERE g.previous = drop_embedder.embedder;
    DELETE FROM reid.embedder e WHERE e.embedder_id = drop_embedder.embedder;
    FOR gone IN DELETE FROM reid.model m
            WHERE NOT EXISTS (SELECT FROM reid.embedder e WHERE m.model_id IN (e.model_a, e.model_b))
            RETURNING m.fingerprint LOOP
        EXECUTE format('DROP TABLE reid.%I', 'embedding_' || gone.fingerprint);
    END LOOP;
END $$;
