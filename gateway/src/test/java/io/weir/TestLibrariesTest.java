package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The module that runs these tests has the test libraries that compile them. */
class TestLibrariesTest {

    @Test
    void moduleOfUnitTestsListsEveryTestLibraryOfTheGateway() throws Exception {
        Set<String> compiling = testLibraries(Path.of("pom.xml"));

        assertThat(compiling).contains("org.springframework.boot:spring-boot-starter-test");
        assertThat(testLibraries(Path.of("unit", "pom.xml")))
                .as("gateway/unit/pom.xml")
                .containsAll(compiling);
    }

    private static Set<String> testLibraries(Path pom) throws Exception {
        Document document =
                DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder().parse(pom.toFile());
        NodeList dependencies = document.getElementsByTagName("dependency");
        Set<String> libraries = new TreeSet<>();
        for (int i = 0; i < dependencies.getLength(); i++) {
            Element dependency = (Element) dependencies.item(i);
            if (text(dependency, "scope").equals("test")) {
                libraries.add(text(dependency, "groupId") + ':' + text(dependency, "artifactId"));
            }
        }
        return libraries;
    }

    private static String text(Element element, String name) {
        NodeList children = element.getElementsByTagName(name);
        return children.getLength() == 0 ? "" : children.item(0).getTextContent();
    }
}
