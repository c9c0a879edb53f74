# t_cli_gallery_database.sh: every case of t_cli_gallery.sh, with galleries in PostgreSQL with pgvector.
. tests/lib/python.sh
. tests/lib/postgres.sh
need_postgres
kind=database
. tests/tools/commands/t_cli_gallery.sh
