package io.weir.dashboard;

import java.time.Instant;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.StdSerializer;

/** The JSON format of the streams: numbers with three decimals, times in milliseconds since 1970. */
final class LiveJson {

    private static final double DECIMALS = 1_000;

    private LiveJson() {}

    static JsonMapper mapper() {
        SimpleModule module = new SimpleModule("weir-live");
        module.addSerializer(Double.class, new Rounded<>(Double.class));
        module.addSerializer(double.class, new Rounded<>(Double.class));
        module.addSerializer(Float.class, new Rounded<>(Float.class));
        module.addSerializer(Instant.class, new Millis());
        return JsonMapper.builder().addModule(module).build();
    }

    /** Rounds to three decimals; all decimals would be a third of the document. */
    private static final class Rounded<N extends Number> extends StdSerializer<N> {

        Rounded(Class<N> type) {
            super(type);
        }

        @Override
        public void serialize(N value, JsonGenerator generator, SerializationContext context) {
            double rounded = Math.round(value.doubleValue() * DECIMALS) / DECIMALS;
            if (rounded == Math.rint(rounded)) {
                generator.writeNumber((long) rounded);
            } else {
                generator.writeNumber(rounded);
            }
        }
    }

    private static final class Millis extends StdSerializer<Instant> {

        Millis() {
            super(Instant.class);
        }

        @Override
        public void serialize(Instant value, JsonGenerator generator, SerializationContext context) {
            generator.writeNumber(value.toEpochMilli());
        }
    }
}
