package io.weir.perf.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The style of all plots; writes them to a directory. */
final class Charts {

    /** The lower end of logarithmic scales: 0.1 ms. */
    private static final double LOGARITHMIC_MIN = 0.1;

    private static final int WIDTH = 960;
    private static final int HEIGHT = 340;
    private static final Color[] SERIES = {
        new Color(0x0b5cd6),
        new Color(0xa46200),
        new Color(0x1f7d52),
        new Color(0xcc2b38),
        new Color(0x8457c2),
        new Color(0x1f9aa8),
        new Color(0x7a5230),
        new Color(0xd14d9c)
    };

    /** The number of series with different colours. */
    static final int MAX_SERIES = SERIES.length;

    /** A plot that was written. */
    record Plot(String file, String title) {}

    record Point(double x, double y) {}

    private final Path directory;
    private final List<Plot> written = new ArrayList<>();

    Charts(Path directory) {
        this.directory = directory;
    }

    List<Plot> written() {
        return written;
    }

    static XYChart lines(String title, String xTitle, String unit) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(xTitle)
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        return chart;
    }

    /** Adds a line. A logarithmic scale shows smaller values at its lower end. */
    static XYSeries line(XYChart chart, String name, List<Point> points, int index, boolean logarithmic) {
        XYSeries series = chart.addSeries(
                name,
                points.stream().mapToDouble(Point::x).toArray(),
                points.stream()
                        .mapToDouble(point -> logarithmic ? Math.max(LOGARITHMIC_MIN, point.y()) : point.y())
                        .toArray());
        series.setLineColor(SERIES[index % SERIES.length]);
        series.setMarkerColor(SERIES[index % SERIES.length]);
        series.setLineWidth(1.6f);
        series.setMarker(SeriesMarkers.NONE);
        return series;
    }

    /** Sets the scale to the largest value of all lines. */
    static void scale(XYChart chart, Collection<List<Point>> lines, boolean logarithmic) {
        scale(chart.getStyler(), max(lines), logarithmic);
    }

    static double max(Collection<List<Point>> lines) {
        return lines.stream()
                .flatMap(List::stream)
                .mapToDouble(Point::y)
                .filter(Double::isFinite)
                .max()
                .orElse(0);
    }

    private static void scale(AxesChartStyler styler, double max, boolean logarithmic) {
        styler.setYAxisLogarithmic(logarithmic);
        if (logarithmic) {
            double decade = Math.pow(10, Math.ceil(Math.log10(Math.max(1, max * 1.05))));
            styler.setYAxisMin(LOGARITHMIC_MIN).setYAxisMax(decade);
        } else {
            styler.setYAxisMin(0.0).setYAxisMax(max > 0 ? 1.1 * max : 1);
        }
    }

    static CategoryChart bars(String title, String unit) {
        CategoryChart chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        chart.getStyler().setAvailableSpaceFill(0.6).setSeriesColors(SERIES);
        return chart;
    }

    /** Writes groups of bars, one bar of each series for each label; nothing if all values are 0. */
    void saveBars(String file, String title, String unit, List<String> labels, Map<String, List<Double>> series)
            throws IOException {
        double max = series.values().stream()
                .flatMap(List::stream)
                .mapToDouble(value -> value)
                .max()
                .orElse(0);
        if (max <= 0) {
            return;
        }
        CategoryChart chart = bars(title, unit);
        int index = 0;
        for (Map.Entry<String, List<Double>> one : series.entrySet()) {
            chart.addSeries(one.getKey(), labels, one.getValue()).setFillColor(SERIES[index++ % SERIES.length]);
        }
        scale(chart.getStyler(), max, false);
        save(chart, file, title);
    }

    static void area(XYSeries series, XYSeries.XYSeriesRenderStyle style, Color colour) {
        series.setXYSeriesRenderStyle(style);
        series.setFillColor(colour);
        series.setLineColor(colour);
        series.setMarker(SeriesMarkers.NONE);
    }

    private static void style(AxesChartStyler styler) {
        Font font = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
        styler.setAxisTickLabelsFont(font.deriveFont(11f))
                .setAxisTitleFont(font)
                .setPlotGridLinesColor(new Color(0xe3e6ea))
                .setXAxisMaxLabelCount(25);
        styler.setBaseFont(font);
        styler.setChartTitleFont(font.deriveFont(Font.BOLD, 14f))
                .setLegendFont(font.deriveFont(11f))
                .setLegendPosition(Styler.LegendPosition.OutsideE)
                .setLegendBorderColor(Color.WHITE)
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false)
                .setAnnotationTextFont(font.deriveFont(10f))
                .setAnnotationTextFontColor(new Color(0x565f6b))
                .setAnnotationLineColor(new Color(0xb9c0c9))
                .setAnnotationLineStroke(new BasicStroke(1))
                .setMarkerSize(6);
        styler.setDecimalPattern("#,###.###");
    }

    void save(Chart<?, ?> chart, String name, String title) throws IOException {
        String file = name.replaceAll("[^A-Za-z0-9._-]+", "-") + ".png";
        Files.write(directory.resolve(file), BitmapEncoder.getBitmapBytes(chart, BitmapEncoder.BitmapFormat.PNG));
        written.add(new Plot("plots/" + file, title));
    }
}
