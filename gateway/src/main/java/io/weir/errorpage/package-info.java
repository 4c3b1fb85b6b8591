/**
 * Pages for the gateway's own answers: {@code weir.errors}.
 *
 * <p>A person in front of a browser cannot use {@code application/problem+json}. A refusal whose status has a
 * page is sent as that page to a caller that asks for HTML. Its status and header fields stay: {@code
 * Proxy-Status}, {@code Retry-After}, {@code Cache-Control: no-store}, and the route's CORS fields.
 *
 * <p><b>Who gets a page.</b> A caller whose {@code Accept} names {@code text/html} or {@code
 * application/xhtml+xml}, as browsers do when they load a page, with a higher quality than it gives to JSON.
 * A wildcard does not ask for HTML: scripts, curl and API clients send it. A gRPC caller never gets a page.
 * What the edge refuses before there is a request with a path, such as a head that cannot be parsed, has no
 * page.
 *
 * <p><b>The text</b> is part of the configuration, not a file beside it. So it is checked, reloaded, rolled
 * back and compared among gateways like everything else. Four placeholders are replaced; a page that needs
 * more is the work of a backend, as a fallback.
 *
 * <p>Concurrency: immutable; the pages are a part of the routes in force.
 */
@NullMarked
package io.weir.errorpage;

import org.jspecify.annotations.NullMarked;
