# Of the official images, -jdk and -jre both: where Java is, and its environment.
FROM debian:bookworm-slim
ENV JAVA_HOME=/opt/java/openjdk LANG=C.UTF-8
ENV PATH=$JAVA_HOME/bin:$PATH
ADD java.tar $JAVA_HOME/
CMD ["bash"]
