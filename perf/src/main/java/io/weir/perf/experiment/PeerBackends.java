package io.weir.perf.experiment;

import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunningServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.Map;

/**
 * The backends of peers: one that answers at once, none, and one that can hang.
 *
 * @param served the port of the one that answers at once
 * @param gone bound without listening: no other process gets this port, and connections to it fail
 * @param openFiles how many of the wanted open files this user is allowed
 */
record PeerBackends(int served, Socket gone, int openFiles, ExperimentContext context) implements AutoCloseable {

    /**
     * Starts the backend that answers at once: nginx if installed, because some proxies are faster than a
     * backend on a JVM.
     */
    static PeerBackends start(ExperimentContext context) throws InterruptedException {
        try {
            Socket gone = new Socket();
            gone.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return new PeerBackends(startServed(context), gone, grantedOpenFiles(), context);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int startServed(ExperimentContext context) throws InterruptedException {
        boolean nginx = PeerProxy.NGINX.isInstalled();
        Places places = ownPlaces(0, context);
        List<String> command = nginx
                ? PeerProxy.command(context, PeerProxy.NGINX_COMMAND, "served.conf", places)
                : PeerProxy.command(context, "${PEER} backend ${PORT}", "", places);
        context.property("served-by", nginx ? "nginx" : "Reactor Netty; nginx is not installed");
        context.processes().start(Role.GENERATOR, "served", command, Map.of());
        context.processes().await("the backend answers", () -> HttpControl.answers(places.url("/served/1")));
        return places.port();
    }

    /** Starts the backend with ten workers for calls of 50 ms, which can hang. */
    static RunningServer startSick(String name, ExperimentContext context) throws InterruptedException {
        Places places = ownPlaces(Host.freePort(), context);
        List<String> command = PeerProxy.command(context, "${PEER} sick ${SICK_PORT} ${MANAGEMENT_PORT}", "", places);
        ManagedProcess process = context.processes().start(Role.GENERATOR, name, command, Map.of());
        RunningServer sick = RunningServer.local(process, places.sick(), places.managementPort());
        return context.servers().ready(sick, "/health");
    }

    private static Places ownPlaces(int sick, ExperimentContext context) {
        return new Places(Host.freePort(), Host.freePort(), 0, 0, sick, context.cores(), PeerProxy.OPEN_FILES);
    }

    private static int grantedOpenFiles() {
        List<String> command = Host.withOpenFiles(PeerProxy.OPEN_FILES, List.of("/bin/sh", "-c", "ulimit -n"));
        String granted = Host.firstLine(command.toArray(String[]::new));
        return granted.equals("unlimited")
                ? PeerProxy.OPEN_FILES
                : Math.min(PeerProxy.OPEN_FILES, Integer.parseInt(granted));
    }

    /** The places of a peer on free ports. */
    Places places(int sick) {
        return new Places(
                Host.freePort(), Host.freePort(), served, gone.getLocalPort(), sick, context.cores(), openFiles);
    }

    @Override
    public void close() {
        try {
            gone.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
