/**
 * Pages for the gateway's own answers: {@code weir.errors}.
 *
 * <p>A person in front of a browser cannot use {@code application/problem+json}. A refusal whose status has a
 * page is sent as that page to a caller that asks for HTML. Its status and header fields stay: {@code
 * Proxy-Status}, {@code Retry-After}, {@code Cache-Control: no-store}, and the route's CORS fields.
 *
 * <p><b>Who gets a page.</b> A caller gets one if its {@code Accept} names {@code text/html} or {@code
 * application/xhtml+xml} and gives it a higher quality than JSON. Browsers do so when they load a page. The
 * door reads the field. A wildcard does not ask for HTML: scripts, curl and API clients send it. A gRPC
 * caller never gets a page. The edge refuses some requests before they have a path, such as one whose head
 * cannot be parsed; these refusals have no page.
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
