# Of the official image: where its configuration is, and SIGUSR1, a soft stop, as the way to stop.
FROM debian:bookworm-slim
RUN apt-get update -qq
RUN DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends haproxy >/dev/null
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["haproxy", "-W", "-db"]
CMD ["-f", "/usr/local/etc/haproxy/haproxy.cfg"]
