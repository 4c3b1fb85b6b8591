package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.OutcomeKind;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IndexedImageTest {

    private static final int SIZE = 256;

    @TempDir
    private Path directory;

    /** Each outcome has a shade of its kind: a legend must not show one as another. */
    @Test
    void keepsTheColoursOfOutcomesAmongThousandsOfOthers() throws IOException {
        List<Color> shades = Stream.of(OutcomeKind.SHED, OutcomeKind.FAILED)
                .flatMap(OutcomeKind::shades)
                .toList();
        BufferedImage image = new BufferedImage(SIZE, SIZE, BufferedImage.TYPE_INT_RGB);
        for (int i = 0; i < SIZE * SIZE; i++) {
            image.setRGB(i % SIZE, i / SIZE, new Color(i % SIZE, i / SIZE, 128).getRGB());
        }
        Graphics2D graphics = image.createGraphics();
        for (int i = 0; i < shades.size(); i++) {
            graphics.setColor(shades.get(i));
            graphics.fillRect(0, 4 * i, 2, 2);
        }
        graphics.dispose();

        Path file = directory.resolve("plot.png");
        IndexedImage.write(image, shades, file);

        BufferedImage read = ImageIO.read(file.toFile());
        assertThat(IntStream.range(0, shades.size()).mapToObj(i -> new Color(read.getRGB(1, 4 * i + 1))))
                .isEqualTo(shades);
        assertThat(IntStream.range(0, SIZE * SIZE)
                        .map(i -> read.getRGB(i % SIZE, i / SIZE))
                        .distinct()
                        .count())
                .isLessThanOrEqualTo(28);
    }
}
