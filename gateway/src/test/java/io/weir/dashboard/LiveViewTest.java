package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class LiveViewTest {

    private static final Pattern CODE = Pattern.compile("`([^`\n]+)`");
    private static final Pattern WORD = Pattern.compile("\\w+");

    @Test
    void hasEveryFieldInTheReadme() throws IOException {
        Set<String> documented = new TreeSet<>();
        CODE.matcher(Files.readString(Path.of("..", "ops", "README.md")))
                .results()
                .flatMap(code -> WORD.matcher(code.group(1)).results())
                .forEach(word -> documented.add(word.group()));

        assertThat(documented).containsAll(fields(LiveView.class)).contains("startedAt", "p995Ms", "wouldRefuse");
    }

    /** The JSON names of all fields, including those of nested records. */
    private static Set<String> fields(Class<?> type) {
        Set<String> fields = new TreeSet<>();
        for (RecordComponent component : type.getRecordComponents()) {
            JsonProperty renamed = component.getAccessor().getAnnotation(JsonProperty.class);
            fields.add(renamed == null ? component.getName() : renamed.value());
            records(component.getGenericType(), fields);
        }
        return fields;
    }

    private static void records(Type type, Set<String> fields) {
        if (type instanceof Class<?> plain && plain.isRecord()) {
            fields.addAll(fields(plain));
        } else if (type instanceof ParameterizedType generic) {
            Arrays.stream(generic.getActualTypeArguments()).forEach(argument -> records(argument, fields));
        }
    }
}
