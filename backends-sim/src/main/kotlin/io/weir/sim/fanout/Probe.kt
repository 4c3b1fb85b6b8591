package io.weir.sim.fanout

internal class Probe
