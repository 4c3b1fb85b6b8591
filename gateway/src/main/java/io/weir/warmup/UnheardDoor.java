package io.weir.warmup;

import io.weir.door.DoorListener;
import io.weir.door.RequestFacts;
import io.weir.outcome.Refusal;

/** Ignores the requests of a warm-up that have no exchange: they are in no meter and no log. */
enum UnheardDoor implements DoorListener {
    INSTANCE;

    @Override
    public void refused(Refusal refusal, RequestFacts facts) {}

    @Override
    public void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts) {}

    @Override
    public void answered(String route, int status, long totalNanos, RequestFacts facts) {}

    @Override
    public void priorityIgnored() {}
}
