package io.weir.wiring;

import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.overload.OverloadGuard;

/**
 * The parts that count the gateway's work and decide whether it accepts more.
 *
 * @param engine counts the exchanges in flight
 * @param guard decides whether the gateway is overloaded
 * @param drain holds the phase of the shutdown
 */
record GatewayState(Engine engine, OverloadGuard guard, Drain drain) {}
