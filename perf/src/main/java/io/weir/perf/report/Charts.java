package io.weir.perf.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

/** How all plots look, and where they are written. */
final class Charts {

    static final double FLOOR_MS = 0.1;
    static final Color QUIET = new Color(0x565f6b);
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

    /** Series that differ in colour. */
    static final int SERIES_MAX = SERIES.length;

    private final Path directory;
    private final List<Plots.Plot> written = new ArrayList<>();

    Charts(Path directory) {
        this.directory = directory;
    }

    /** What has been saved. */
    List<Plots.Plot> written() {
        return written;
    }

    static XYChart lines(String title, String across, String unit) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(across)
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        return chart;
    }

    static CategoryChart categories(String title, String unit) {
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

    static XYSeries line(XYChart chart, String name, double[] x, double[] y, int index) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setLineColor(colour(index));
        series.setLineWidth(1.6f);
        series.setMarker(SeriesMarkers.NONE);
        return series;
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
                .setAnnotationTextFontColor(QUIET)
                .setAnnotationLineColor(new Color(0xb9c0c9))
                .setAnnotationLineStroke(new BasicStroke(1))
                .setMarkerSize(6);
        styler.setDecimalPattern("#,###.###");
    }

    /** Its values go up to the most; on a logarithmic scale from {@link #FLOOR_MS} on. */
    static void scale(AxesChartStyler styler, boolean logarithmic, double most) {
        styler.setYAxisLogarithmic(logarithmic);
        if (logarithmic) {
            styler.setYAxisMin(FLOOR_MS).setYAxisMax(decadeAbove(most));
        } else {
            styler.setYAxisMin(0.0).setYAxisMax(most > 0 ? 1.1 * most : 1);
        }
    }

    private static double decadeAbove(double most) {
        return Math.pow(10, Math.ceil(Math.log10(Math.max(1, most * 1.05))));
    }

    /** A value that can be drawn on such a scale. */
    static double atLeast(boolean logarithmic, double value) {
        return logarithmic ? Math.max(FLOOR_MS, value) : value;
    }

    /** That of a plot's series, by its number. */
    static Color colour(int index) {
        return SERIES[index % SERIES.length];
    }

    /** Writes it, into a file of that name. */
    void save(Chart<?, ?> chart, String name, String title) throws IOException {
        String file = name.replaceAll("[^A-Za-z0-9._-]+", "-") + ".png";
        Files.write(directory.resolve(file), BitmapEncoder.getBitmapBytes(chart, BitmapEncoder.BitmapFormat.PNG));
        written.add(new Plots.Plot("plots/" + file, title));
    }
}
