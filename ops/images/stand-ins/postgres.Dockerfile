# The official image's contract: POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB at the first start, which
# reports readiness twice; clients from every address with a password; arguments for postgres; SIGINT stops
# it.
FROM debian:bookworm-slim
RUN apt-get update -qq
RUN DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >/dev/null \
    && rm -rf /var/lib/postgresql/*/main \
    && ln -s /usr/lib/postgresql/*/bin /opt/postgresql
ENV PATH=/opt/postgresql:$PATH PGDATA=/var/lib/postgresql/data
COPY postgres-entrypoint /usr/local/bin/docker-entrypoint.sh
USER postgres
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["bash", "/usr/local/bin/docker-entrypoint.sh"]
CMD ["postgres"]
