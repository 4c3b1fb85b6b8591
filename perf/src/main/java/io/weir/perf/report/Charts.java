package io.weir.perf.report;

import io.weir.perf.result.OutcomeKind;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The style of all plots; writes them to a directory. */
record Charts(Path directory, List<Plot> written) {

    /** The lower end of logarithmic scales: 0.1 ms. */
    private static final double LOGARITHMIC_MIN = 0.1;

    static final int WIDTH = 960;
    static final int HEIGHT = 340;
    private static final Color[] SERIES = {
        new Color(0x0b5cd6), new Color(0xa46200), new Color(0x1f7d52), new Color(0xcc2b38),
        new Color(0x8457c2), new Color(0x1f9aa8), new Color(0x7a5230), new Color(0xd14d9c)
    };

    /** The colours of lines and areas. */
    private static final List<Color> COLOURS = Stream.concat(
                    Stream.of(OutcomeKind.values()).flatMap(OutcomeKind::shades), Stream.of(SERIES))
            .toList();

    static final int MAX_SERIES = SERIES.length;

    record Plot(String file, String title) {}

    record Point(double x, double y) {}

    static XYChart lines(String title, String xTitle, String unit, int width, int height) {
        XYChart chart = new XYChart(width, height, Styler.ChartTheme.Matlab);
        chart.setTitle(title);
        chart.setXAxisTitle(xTitle);
        chart.setYAxisTitle(unit);
        chart.getStyler().setMarkerSize(6).setDecimalPattern("#,###.###").setSeriesColors(SERIES);
        return chart;
    }

    /** Adds a line. A logarithmic scale shows smaller values at its lower end. */
    static XYSeries line(XYChart chart, String name, List<Point> points, boolean logarithmic) {
        double min = logarithmic ? LOGARITHMIC_MIN : Double.NEGATIVE_INFINITY;
        XYSeries series = chart.addSeries(
                name,
                points.stream().mapToDouble(Point::x).toArray(),
                points.stream().mapToDouble(point -> Math.max(min, point.y())).toArray());
        series.setLineWidth(1.6f);
        series.setMarker(SeriesMarkers.NONE);
        return series;
    }

    static double max(Collection<List<Point>> lines) {
        return lines.stream()
                .flatMap(List::stream)
                .mapToDouble(Point::y)
                .filter(Double::isFinite)
                .max()
                .orElse(0);
    }

    static void scale(AxesChartStyler styler, double max, boolean logarithmic) {
        styler.setYAxisLogarithmic(logarithmic);
        double top = logarithmic ? Math.pow(10, Math.ceil(Math.log10(Math.max(1, max * 1.05)))) : 1.1 * max;
        styler.setYAxisMin(logarithmic ? LOGARITHMIC_MIN : 0).setYAxisMax(top > 0 ? top : 1);
    }

    static CategoryChart bars(String title, String unit) {
        CategoryChart chart = new CategoryChart(WIDTH, HEIGHT, Styler.ChartTheme.Matlab);
        chart.setTitle(title);
        chart.setYAxisTitle(unit);
        chart.getStyler()
                .setAvailableSpaceFill(0.6)
                .setDecimalPattern("#,###.###")
                .setSeriesColors(SERIES);
        return chart;
    }

    /** Writes groups of bars, one bar of each series for each label; nothing if all values are 0. */
    void saveBars(String file, String title, String unit, List<String> labels, Map<String, List<Double>> series)
            throws IOException {
        double max = series.values().stream()
                .flatMap(List::stream)
                .max(Double::compare)
                .orElse(0.0);
        if (max > 0) {
            CategoryChart chart = bars(title, unit);
            series.forEach((name, values) -> chart.addSeries(name, labels, values));
            scale(chart.getStyler(), max, false);
            save(chart, file, title);
        }
    }

    static void area(XYSeries series, XYSeries.XYSeriesRenderStyle style, Color colour) {
        series.setXYSeriesRenderStyle(style);
        series.setFillColor(colour);
        series.setLineColor(colour);
        series.setMarker(SeriesMarkers.NONE);
    }

    void save(Chart<?, ?> chart, String name, String title) throws IOException {
        save(List.of(chart), 1, name, title);
    }

    /** Writes charts of the same size to one file, row by row. */
    void save(List<? extends Chart<?, ?>> charts, int columns, String name, String title) throws IOException {
        String file = name.replaceAll("[^A-Za-z0-9._-]+", "-") + ".png";
        BufferedImage image = new BufferedImage(
                columns * charts.getFirst().getWidth(),
                charts.size() / columns * charts.getFirst().getHeight(),
                BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        for (int i = 0; i < charts.size(); i++) {
            Chart<?, ?> chart = charts.get(i);
            graphics.drawImage(
                    BitmapEncoder.getBufferedImage(chart),
                    i % columns * chart.getWidth(),
                    i / columns * chart.getHeight(),
                    null);
        }
        graphics.dispose();
        IndexedImage.write(image, COLOURS, directory.resolve(file));
        written.add(new Plot("plots/" + file, title));
    }
}
