package io.weir.instance;

import java.net.UnknownHostException;

/** No address of a backend is known yet. The backend has not failed, so this is no evidence against it. */
final class NoAddressException extends UnknownHostException {

    private static final long serialVersionUID = 1;

    NoAddressException(String host) {
        super(host);
    }
}
