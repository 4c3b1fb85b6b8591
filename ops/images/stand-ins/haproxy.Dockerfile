# The official image's contract: the place of the configuration, and SIGUSR1, a soft stop, as its stop signal.
FROM debian:bookworm-slim
RUN apt-get update -qq
RUN DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends haproxy >/dev/null
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["haproxy", "-W", "-db"]
CMD ["-f", "/usr/local/etc/haproxy/haproxy.cfg"]
