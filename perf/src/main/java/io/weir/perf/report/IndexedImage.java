package io.weir.perf.report;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageWriteParam;
import javax.imageio.ImageWriter;
import javax.imageio.stream.ImageOutputStream;

/**
 * Writes a plot with 28 colours: a third of the size of one with all shades of its smoothed edges. The
 * colours of the lines and areas stay as they are, the shades between them become the nearest colour.
 * Rejected alternative: a plot with 16 is smaller, but the shades that tell outcomes apart are changed.
 */
final class IndexedImage {

    private static final int COLOURS = 28;
    private static final int BITS = 8;

    /** Colours that are nearer to each other look alike. */
    private static final int MIN_DISTANCE = 24;

    private IndexedImage() {}

    /** Writes a PNG, with those of the given colours that occur in the image. */
    static void write(BufferedImage image, Collection<Color> colours, Path file) throws IOException {
        ImageWriter writer = ImageIO.getImageWritersByFormatName("png").next();
        ImageWriteParam strongest = writer.getDefaultWriteParam();
        strongest.setCompressionMode(ImageWriteParam.MODE_EXPLICIT);
        strongest.setCompressionQuality(0);
        try (ImageOutputStream out = ImageIO.createImageOutputStream(file.toFile())) {
            writer.setOutput(out);
            writer.write(null, new IIOImage(reduce(image, colours), null, null), strongest);
        } finally {
            writer.dispose();
        }
    }

    private static BufferedImage reduce(BufferedImage image, Collection<Color> colours) {
        int width = image.getWidth();
        int height = image.getHeight();
        int[] pixels = image.getRGB(0, 0, width, height, null, 0, width);
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] &= 0xffffff;
        }
        Map<Integer, Integer> counts = new HashMap<>();
        for (int from = 0, to; from < pixels.length; from = to) {
            to = endOfRun(pixels, from);
            counts.merge(pixels[from], to - from, Integer::sum);
        }
        List<Integer> chosen = choose(counts, colours);
        BufferedImage reduced = new BufferedImage(
                width,
                height,
                BufferedImage.TYPE_BYTE_INDEXED,
                new IndexColorModel(BITS, chosen.size(), channel(chosen, 16), channel(chosen, 8), channel(chosen, 0)));
        Map<Integer, Integer> nearest = new HashMap<>();
        byte[] indices = new byte[pixels.length];
        for (int from = 0, to; from < pixels.length; from = to) {
            to = endOfRun(pixels, from);
            int index = nearest.computeIfAbsent(pixels[from], colour -> nearest(chosen, colour));
            Arrays.fill(indices, from, to, (byte) index);
        }
        reduced.getRaster().setDataElements(0, 0, width, height, indices);
        return reduced;
    }

    /** The end of the pixels of the same colour, exclusive: a plot is mostly background. */
    private static int endOfRun(int[] pixels, int from) {
        int to = from + 1;
        while (to < pixels.length && pixels[to] == pixels[from]) {
            to++;
        }
        return to;
    }

    /** The given colours that occur, then the most frequent ones that look different. */
    private static List<Integer> choose(Map<Integer, Integer> counts, Collection<Color> colours) {
        List<Integer> chosen = new ArrayList<>(colours.stream()
                .map(colour -> colour.getRGB() & 0xffffff)
                .filter(counts::containsKey)
                .distinct()
                .limit(COLOURS - 2)
                .toList());
        counts.entrySet().stream()
                .sorted(Map.Entry.<Integer, Integer>comparingByValue()
                        .reversed()
                        .thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .forEach(colour -> {
                    boolean isNew =
                            chosen.stream().allMatch(other -> distance(other, colour) >= MIN_DISTANCE * MIN_DISTANCE);
                    if (isNew && chosen.size() < COLOURS) {
                        chosen.add(colour);
                    }
                });
        return chosen;
    }

    private static int nearest(List<Integer> chosen, int colour) {
        return IntStream.range(0, chosen.size())
                .boxed()
                .min((one, other) ->
                        Integer.compare(distance(chosen.get(one), colour), distance(chosen.get(other), colour)))
                .orElseThrow();
    }

    /** The square of the distance. */
    private static int distance(int one, int other) {
        int sum = 0;
        for (int shift : new int[] {0, 8, 16}) {
            int difference = (one >> shift & 0xff) - (other >> shift & 0xff);
            sum += difference * difference;
        }
        return sum;
    }

    private static byte[] channel(List<Integer> colours, int shift) {
        byte[] values = new byte[colours.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (byte) (colours.get(i) >> shift);
        }
        return values;
    }
}
