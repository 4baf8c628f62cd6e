import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.storm.Config;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.grouping.LoadAwareShuffleGrouping;
import org.apache.storm.grouping.LoadMapping;
import org.apache.storm.grouping.PartialKeyGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * Sends keys through Apache Storm's own groupings and prints, a line each: name, CPU seconds, loads.
 *
 * <p>Arguments: a file of little-endian 64-bit keys, the number of workers, the rounds.
 */
public final class StormPeers {
    public static void main(String[] arguments) throws Exception {
        long[] keys = read(Path.of(arguments[0]));
        int workers = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        // What a spout emits: lists of boxed values, made beforehand and not timed.
        List<List<Object>> tuples = new ArrayList<>(keys.length);
        for (long key : keys) {
            tuples.add(List.of((Object) key));
        }
        for (String name : List.of("partial-key", "load-aware")) {
            double least = Double.POSITIVE_INFINITY;
            long[] loads = null;
            for (int round = 0; round < rounds; round++) {
                CustomStreamGrouping grouping = prepared(name, workers);
                loads = new long[workers];
                long begin = cpu();
                for (List<Object> tuple : tuples) {
                    loads[grouping.chooseTasks(0, tuple).get(0)]++;
                }
                least = Math.min(least, (cpu() - begin) * 1e-9);
            }
            StringBuilder line = new StringBuilder(name + " " + least);
            for (long load : loads) {
                line.append(' ').append(load);
            }
            System.out.println(line);
        }
    }

    private static CustomStreamGrouping prepared(String name, int workers) {
        CustomStreamGrouping grouping =
                name.equals("partial-key") ? new PartialKeyGrouping() : new LoadAwareShuffleGrouping();
        List<Integer> tasks = new ArrayList<>();
        Map<Integer, NodeInfo> places = new HashMap<>();
        for (int task = 0; task < workers; task++) {
            tasks.add(task);
            places.put(task, new NodeInfo("here", java.util.Set.of(6700L)));
        }
        Map<String, Object> settings = new HashMap<>();
        settings.put(
                Config.STORM_NETWORK_TOPOGRAPHY_PLUGIN,
                "org.apache.storm.networktopography.DefaultRackDNSToSwitchMapping");
        settings.put(Config.TOPOLOGY_LOCALITYAWARE_HIGHER_BOUND, 0.8);
        settings.put(Config.TOPOLOGY_LOCALITYAWARE_LOWER_BOUND, 0.2);
        WorkerTopologyContext context =
                new WorkerTopologyContext(
                        new StormTopology(), settings, Map.of(), Map.of(), Map.of(), "peers", "", "", 6700,
                        tasks, Map.of(), Map.of(), new AtomicReference<>(places), "here",
                        new AtomicReference<>(Map.of("here", "localhost")));
        grouping.prepare(context, null, tasks);
        if (grouping instanceof LoadAwareShuffleGrouping) {
            LoadMapping load = new LoadMapping();
            Map<Integer, Double> idle = new HashMap<>();
            tasks.forEach(task -> idle.put(task, 0.0));
            load.setLocal(idle);
            ((LoadAwareShuffleGrouping) grouping).refreshLoad(load);
        }
        return grouping;
    }

    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static long[] read(Path path) throws Exception {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            ByteBuffer bytes = ByteBuffer.allocate((int) channel.size()).order(ByteOrder.LITTLE_ENDIAN);
            while (bytes.hasRemaining() && channel.read(bytes) >= 0) {}
            bytes.flip();
            long[] keys = new long[bytes.remaining() / Long.BYTES];
            bytes.asLongBuffer().get(keys);
            return keys;
        }
    }

    private StormPeers() {}
}
