package io.weir.config.check;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.logging.LoggingSystem;

/**
 * The command line: starts the gateway with configuration files, validates files, or prints the usage or the
 * version.
 */
public final class CommandLine {

    private static final String USAGE = """
            Usage: java -jar weir-gateway.jar [FILE...] [--property=value...]
                   java -jar weir-gateway.jar --validate [--without-environment] [--against OLD] FILE... [--property=value...]
                   java -jar weir-gateway.jar --version | --help

              FILE               configuration: YAML (.yml, .yaml) or .properties; later files override earlier ones
              --validate         check each file separately, without starting; warn of parts without effect
              --without-environment
                                 with --validate: only warn of placeholders without a value and of
                                 certificates without a file, such as in CI
              --against OLD      with --validate: print what changes against this file, and what a reload would
                                 refuse
              --version          print the version
              --help, -h         print this
              --debug, --trace   log more
              --property=value   a property that overrides the files, such as --server.port=8080

            Exit codes: 0   stopped by SIGTERM after draining; --validate: all files are valid; --version, --help
                        1   the configuration is invalid
                        2   the command line is invalid
                        3   memory ran out, if Java has -XX:+ExitOnOutOfMemoryError
                        4   a port is in use, or an address is not this machine's
                        5   the start failed for another reason
                        6   --validate --against: the files are valid, but a reload would refuse one: it needs a restart
                        130 stopped by Ctrl-C (SIGINT) after draining
            """;

    private static final int BAD_CONFIGURATION = 1;
    private static final int BAD_USAGE = 2;
    private static final String VALIDATE = "--validate";
    private static final String HELP = "--help";
    private static final String VERSION = "--version";
    private static final String WITHOUT_ENVIRONMENT = "--without-environment";
    private static final String AGAINST = "--against";
    /** Options of Spring Boot. */
    private static final Set<String> FLAGS = Set.of("--debug", "--trace");

    private final List<Path> files = new ArrayList<>();
    private final List<String> properties = new ArrayList<>();
    private boolean validate;
    private boolean help;
    private boolean version;
    private boolean withoutEnvironment;
    private @Nullable Path against;
    private @Nullable String usageError;
    /** Null before the check of a start. */
    private @Nullable CheckedConfiguration checked;

    /** Parses a command line. */
    public CommandLine(String... arguments) {
        Iterator<String> rest = List.of(arguments).iterator();
        while (rest.hasNext()) {
            String argument = rest.next();
            if (argument.equals(AGAINST)) {
                parseAgainst(rest);
            } else {
                parse(argument);
            }
        }
        if (usageError == null && validate && files.isEmpty()) {
            usageError = "--validate: no file (expected: --validate FILE...)";
        }
        if (usageError == null && withoutEnvironment && !validate) {
            usageError =
                    WITHOUT_ENVIRONMENT + ": without --validate (expected: --validate --without-environment FILE...)";
        }
        if (usageError == null && against != null && !validate) {
            usageError = AGAINST + ": without --validate (expected: --validate --against OLD FILE...)";
        }
        if (usageError == null && !files.isEmpty() && properties.stream().anyMatch(CommandLine::isFilesProperty)) {
            usageError = NamedFiles.PROPERTY + ": also given as files (expected: one or the other)";
        }
    }

    private void parseAgainst(Iterator<String> rest) {
        if (against == null && rest.hasNext()) {
            against = Path.of(rest.next());
        } else if (usageError == null) {
            usageError = AGAINST + (against == null ? ": no file" : ": twice") + " (expected: one file)";
        }
    }

    private void parse(String argument) {
        if (argument.equals(VALIDATE)) {
            validate = true;
        } else if (argument.equals(HELP) || argument.equals("-h")) {
            help = true;
        } else if (argument.equals(VERSION)) {
            version = true;
        } else if (argument.equals(WITHOUT_ENVIRONMENT)) {
            withoutEnvironment = true;
        } else if (!argument.startsWith("-")) {
            files.add(Path.of(argument));
        } else if (FLAGS.contains(argument) || isProperty(argument)) {
            properties.add(argument);
        } else if (usageError == null) {
            @Nullable
            String nearest = PropertyNames.nearest(
                    argument,
                    Stream.concat(FLAGS.stream(), Stream.of(VALIDATE, HELP, VERSION, WITHOUT_ENVIRONMENT, AGAINST))
                            .toList());
            usageError = argument + ": unknown option" + (nearest == null ? "" : "; did you mean " + nearest + '?');
        }
    }

    private static boolean isProperty(String argument) {
        int equals = argument.indexOf('=');
        String name = equals < 0 ? argument : argument.substring(0, equals);
        return name.startsWith("--") && name.contains(".");
    }

    private static boolean isFilesProperty(String property) {
        int equals = property.indexOf('=');
        String name = equals < 0 ? property : property.substring(0, equals);
        return PropertyNames.uniform(name).equals(PropertyNames.uniform(NamedFiles.PROPERTY));
    }

    /**
     * Executes a command line. Ends the process, except if the command starts the gateway.
     *
     * @param gateway starts the gateway with arguments for Spring Boot, and with the configuration that has
     *     been checked
     */
    public static void run(String[] arguments, BiConsumer<String[], CheckedConfiguration> gateway) {
        run(arguments, System.out, System.err, gateway, System::exit);
    }

    /** Executes a command line with these streams; {@code exit} ends the process with an exit code. */
    static void run(
            String[] arguments,
            PrintStream out,
            PrintStream err,
            BiConsumer<String[], CheckedConfiguration> gateway,
            IntConsumer exit) {
        CommandLine line = new CommandLine(arguments);
        OptionalInt exitCode = line.execute(out, err);
        if (exitCode.isPresent()) {
            exit.accept(exitCode.getAsInt());
        } else {
            gateway.accept(line.springArguments(), Objects.requireNonNull(line.checked));
        }
    }

    /**
     * Executes the command. For a start, only checks the configuration; the caller then starts the gateway.
     *
     * @return the exit code; empty if the caller must start the gateway with {@link #springArguments}
     */
    public OptionalInt execute(PrintStream out, PrintStream err) {
        if (usageError != null) {
            err.println(usageError);
            err.print(USAGE);
            return OptionalInt.of(BAD_USAGE);
        }
        if (help) {
            out.print(USAGE);
            return OptionalInt.of(0);
        }
        if (version) {
            out.println(BuildVersion.PROGRAM + ' ' + BuildVersion.current());
            return OptionalInt.of(0);
        }
        LoggingSystem logging = LoggingSystem.get(CommandLine.class.getClassLoader());
        // Without this call, everything is logged until Spring Boot configures logging.
        logging.beforeInitialize();
        try {
            return validate
                    ? OptionalInt.of(new ValidateCommand(out, properties, withoutEnvironment, against).run(files))
                    : start(err);
        } finally {
            logging.cleanUp();
        }
    }

    private OptionalInt start(PrintStream err) {
        List<ConfigurationProblem> missing = files.stream()
                .flatMap(file -> NamedFiles.problem(file).stream())
                .toList();
        ValidationReport report;
        if (missing.isEmpty()) {
            checked = CheckedConfiguration.read(springArguments());
            report = checked.report();
        } else {
            report = ValidationReport.of(missing);
        }
        if (report.isValid()) {
            return OptionalInt.empty();
        }
        err.println(report);
        return OptionalInt.of(BAD_CONFIGURATION);
    }

    /** The arguments in Spring Boot's format. */
    public String[] springArguments() {
        return NamedFiles.arguments(files, properties);
    }
}
