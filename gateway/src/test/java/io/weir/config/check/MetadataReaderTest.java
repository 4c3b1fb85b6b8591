package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.config.check.MetadataReader.MetadataProperty;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class MetadataReaderTest {

    @Test
    void readsPropertiesAndSkipsTheRest() {
        assertThat(read("""
                {"groups":[{"name":"a","x":[[{}],"]"]}], "properties" : [
                  {"name":"a.b","type":"int","description":"a \\"quoted\\" text }] \\\\","defaultValue":[-1.5e3,true,null]},
                  {"deprecation":{"level":"error","reason":"{","replacement":"a.b"},"name":"a.c"},
                  {"name":"a.d","deprecated":true,"deprecation":{}} ], "hints":[], "ignored":{"properties":[{}]}}
                """))
                .containsExactly(
                        new MetadataProperty("a.b", "int", false, null),
                        new MetadataProperty("a.c", null, true, "a.b"),
                        new MetadataProperty("a.d", null, false, null));
        assertThat(read("{}")).isEmpty();
        assertThat(read("{\"properties\":[]}")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{",
                "{\"properties\":[{\"name\":\"a\"}",
                "{\"properties\":[{\"name\":\"a}",
                "{\"properties\":[{\"name\":1}]}",
                "{\"properties\":[{\"type\":\"int\"}]}",
                "{\"properties\":[{\"name\" \"a\"}]}",
                "{\"groups\":%}",
                "{\"groups\":[",
            })
    void refusesMalformedMetadata(String json) {
        assertThatIllegalArgumentException().isThrownBy(() -> read(json)).withMessageStartingWith("malformed at");
    }

    /** A general JSON parser reads the same from all files of the class path. */
    @Test
    void readsTheMetadataOfTheClassPath() throws IOException {
        for (URL url : Collections.list(
                getClass().getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream in = url.openStream()) {
                String json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                List<MetadataProperty> expected = new ArrayList<>();
                for (JsonNode property : JsonMapper.shared().readTree(json).path("properties")) {
                    JsonNode deprecation = property.path("deprecation");
                    expected.add(new MetadataProperty(
                            property.path("name").asString(),
                            property.path("type").asString(null),
                            deprecation.path("level").asString("").equals("error"),
                            deprecation.path("replacement").asString(null)));
                }
                assertThat(read(json)).as(url.toString()).isEqualTo(expected);
            }
        }
    }

    private static List<MetadataProperty> read(String json) {
        List<MetadataProperty> properties = new ArrayList<>();
        MetadataReader.read(json, properties::add);
        return properties;
    }
}
