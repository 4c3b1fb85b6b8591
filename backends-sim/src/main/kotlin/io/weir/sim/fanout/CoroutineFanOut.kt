package io.weir.sim.fanout

import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.time.Duration
import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.future.await
import kotlinx.coroutines.future.future

/**
 * No thread waits, although coroutines read like blocking code. If one call fails, the others are cancelled.
 */
class CoroutineFanOut(private val client: HttpClient, private val timeout: Duration) : FanOut, AutoCloseable {

    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)

    override fun sequentially(services: List<URI>): CompletableFuture<List<String>> =
        scope.future { services.map { call(it) } }

    override fun inParallel(services: List<URI>): CompletableFuture<List<String>> =
        scope.future { coroutineScope { services.map { async { call(it) } }.awaitAll() } }

    private suspend fun call(service: URI): String =
        client.sendAsync(HttpRequest.newBuilder(service).timeout(timeout).build(), BodyHandlers.ofString()).await().body()

    override fun close() = scope.cancel()
}
