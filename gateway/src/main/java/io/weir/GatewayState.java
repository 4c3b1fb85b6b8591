package io.weir;

import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.overload.OverloadGuard;

/**
 * The parts that know how much work the gateway has and whether it accepts more.
 *
 * @param engine counts the exchanges in flight
 * @param guard knows whether the gateway is overloaded
 * @param drain knows whether the gateway is shutting down
 */
record GatewayState(Engine engine, OverloadGuard guard, Drain drain) {}
