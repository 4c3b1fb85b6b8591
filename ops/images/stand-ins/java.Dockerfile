# Like the official images, -jdk and -jre both: Java's place and its environment. The context is a JDK in the folder jdk.
FROM debian:bookworm-slim
COPY jdk /opt/java/openjdk
ENV JAVA_HOME=/opt/java/openjdk PATH=/opt/java/openjdk/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
CMD ["bash"]
