package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.BlockTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import io.weir.testing.SourceTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The rules of layout that the formatter does not know, for the sources of all modules. */
class SourceCodeTest {

    private static final Path ROOT = Path.of("..");
    private static final int MAX_COMMENT_COLUMNS = 110;
    private static final int MAX_FILE_LINES = 500;
    private static final int MAX_METHOD_LINES = 60;

    /** Tests that start containers or JVMs, or run for many minutes, and the test of this rule. */
    private static final Set<String> OWN_PATIENCE = Set.of(
            "Patience.java",
            "ContainerStand.java",
            "ImageIT.java",
            "RollingReplacementIT.java",
            "LoadedClassesIT.java",
            "FullScenarioIT.java",
            "Launcher.java",
            "StartIT.java",
            "SourceCodeTest.java");

    private static final Pattern OWN_TIME = Pattern.compile("@Timeout\\(|setDefaultTimeout\\(|disposeNow\\(\\)"
            + "|Duration PATIENCE = Duration|[.]atMost\\(Duration[.]|[.](block|disposeNow|timeout)\\(Duration[.]of"
            + "|[.](get|poll|await|waitFor|tryAcquire|orTimeout)\\([0-9_]+, (TimeUnit[.])?(SECONDS|MINUTES)\\)");

    private static final int MAX_LONG_FILES = 3;

    /** The files that may be longer, each with its reason. */
    private static final Map<String, String> LONG_FILES = Map.of();

    @Test
    void commentsWrapAt110Columns() throws IOException {
        List<String> wide = new ArrayList<>();
        for (Path file : sources(".java", ".kt", ".sh", ".yml", ".yaml")) {
            List<String> lines = Files.readAllLines(file);
            boolean inBlock = false;
            for (int i = 0; i < lines.size(); i++) {
                String text = lines.get(i).strip();
                boolean opens = text.startsWith("/*");
                boolean comment = opens || inBlock || text.startsWith("//") || (text.startsWith("#") && !isJava(file));
                if (opens || inBlock) {
                    inBlock = !text.endsWith("*/");
                }
                if (comment && lines.get(i).length() > MAX_COMMENT_COLUMNS && !text.contains("://")) {
                    wide.add(file + ":" + (i + 1) + ": " + lines.get(i).length() + " columns");
                }
            }
        }
        assertThat(wide).isEmpty();
    }

    @Test
    void mainFilesAndMethodsAreShort() throws IOException {
        List<String> problems = new ArrayList<>();
        List<Path> files = mainJava();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, Locale.ROOT, null)) {
            JavacTask task = (JavacTask) compiler.getTask(
                    null, manager, null, List.of("-proc:none"), null, manager.getJavaFileObjectsFromPaths(files));
            SourcePositions positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                new LengthScanner(unit, positions, problems).scan(unit, null);
            }
        }
        assertThat(files).hasSizeGreaterThan(300);
        assertThat(problems).isEmpty();
        assertThat(LONG_FILES).hasSizeLessThanOrEqualTo(MAX_LONG_FILES);
    }

    /** A test that has a time of its own fails on a busy machine. */
    @Test
    void testsWaitWithThePatienceOfTheirModule() throws IOException {
        List<String> problems = new ArrayList<>();
        for (Path file : sources(".java")) {
            if (!file.toString().contains("/src/test/")
                    || OWN_PATIENCE.contains(file.getFileName().toString())) {
                continue;
            }
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                if (OWN_TIME.matcher(lines.get(i)).find()) {
                    problems.add(file + ":" + (i + 1) + ": " + lines.get(i).strip());
                }
            }
        }
        assertThat(problems).as("expected: PATIENCE of the module").isEmpty();
    }

    @Test
    void simpleNamesAreUniqueInAllModules() throws IOException {
        assertThat(mainJava().stream().map(path -> path.getFileName().toString()))
                .filteredOn(name -> !name.equals("package-info.java"))
                .doesNotHaveDuplicates();
    }

    /** Compares the lengths of one file's types and methods with the limits. */
    private static final class LengthScanner extends TreeScanner<@Nullable Void, @Nullable Void> {

        private final CompilationUnitTree unit;
        private final SourcePositions positions;
        private final List<String> problems;

        LengthScanner(CompilationUnitTree unit, SourcePositions positions, List<String> problems) {
            this.unit = unit;
            this.positions = positions;
            this.problems = problems;
        }

        @Override
        public @Nullable Void visitCompilationUnit(CompilationUnitTree tree, @Nullable Void unused) {
            long lines = tree.getLineMap().getLineNumber(end(tree));
            boolean isLong = lines > MAX_FILE_LINES && !tree.getTypeDecls().isEmpty();
            if (isLong && !LONG_FILES.containsKey(name())) {
                problems.add(name() + ": " + lines + " lines (expected: at most " + MAX_FILE_LINES + ")");
            } else if (!isLong && LONG_FILES.containsKey(name())) {
                problems.add(name() + ": " + lines + " lines (expected: not in the list of long files)");
            }
            return super.visitCompilationUnit(tree, null);
        }

        @Override
        public @Nullable Void visitMethod(MethodTree method, @Nullable Void unused) {
            BlockTree body = method.getBody();
            long lines = body == null ? 0 : lines(body);
            if (lines > MAX_METHOD_LINES) {
                problems.add(name() + ": " + method.getName() + " has " + lines + " lines (expected: at most "
                        + MAX_METHOD_LINES + ")");
            }
            return super.visitMethod(method, null);
        }

        private long lines(Tree tree) {
            long first = unit.getLineMap().getLineNumber(positions.getStartPosition(unit, tree));
            return unit.getLineMap().getLineNumber(end(tree)) - first + 1;
        }

        private long end(Tree tree) {
            return positions.getEndPosition(unit, tree);
        }

        private String name() {
            return Path.of(unit.getSourceFile().getName()).getFileName().toString();
        }
    }

    private static List<Path> mainJava() throws IOException {
        return sources(".java").stream()
                .filter(path -> path.toString().contains("/src/main/"))
                .toList();
    }

    private static boolean isJava(Path file) {
        return file.toString().endsWith(".java") || file.toString().endsWith(".kt");
    }

    private static List<Path> sources(String... suffixes) throws IOException {
        List<Path> found = new ArrayList<>();
        for (String module : List.of("gateway", "backends-sim", "perf", "ops", "config")) {
            SourceTree.files(ROOT.resolve(module)).stream()
                    .filter(path -> Stream.of(suffixes).anyMatch(path.toString()::endsWith))
                    .forEach(found::add);
        }
        return found;
    }
}
