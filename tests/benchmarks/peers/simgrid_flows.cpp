// Transfers that all start at once on SimGrid: the peer of the benchmarks `maxmin-solve` and `maxmin-drain`.
//
// Reads from standard input, each list after the number of its entries: hosts (only their number), links (bytes per
// second, seconds of latency), transfers (source, target, bytes, list of links). Writes the wall-clock seconds of the
// run without the reading and the making of the platform, then the simulated seconds at which each transfer ends.
//
// The model is that of hetsim: CM02 with bandwidth and latency factors of 1, no window limit, no cross traffic. CM02
// weighs shares by 1/latency, so all routes must have the same latency, and not none.
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Transfer {
  int source, target;
  uint64_t n_bytes;
};

template <class T> T read()
{
  T value;
  if (not(std::cin >> value)) {
    std::fputs("the input ends early\n", stderr);
    std::exit(1);
  }
  return value;
}

void transfer_all(const std::vector<sg4::Host*>& hosts, const std::vector<Transfer>& transfers,
                  std::vector<double>& ends)
{
  std::vector<sg4::CommPtr> comms;
  for (const auto& [source, target, n_bytes] : transfers)
    comms.push_back(sg4::Comm::sendto_async(hosts[source], hosts[target], n_bytes));
  for (size_t i = 0; i < comms.size(); ++i) {
    comms[i]->wait();
    ends[i] = comms[i]->get_finish_time();
  }
}

} // namespace

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("network/latency-factor:1");
  sg4::Engine::set_config("network/weight-S:0");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  std::ios::sync_with_stdio(false);

  auto* zone = sg4::create_full_zone("all");
  std::vector<sg4::Host*> hosts(read<int>());
  for (size_t i = 0; i < hosts.size(); ++i)
    hosts[i] = zone->create_host("h" + std::to_string(i), 1e9)->seal();
  std::vector<sg4::Link*> links(read<int>());
  for (size_t i = 0; i < links.size(); ++i) {
    links[i] = zone->create_link("l" + std::to_string(i), read<double>());
    links[i]->set_latency(read<double>())->seal();
  }
  std::vector<Transfer> transfers(read<int>());
  std::set<std::pair<int, int>> routed;
  for (auto& transfer : transfers) {
    transfer.source = read<int>();
    transfer.target = read<int>();
    transfer.n_bytes = read<uint64_t>();
    std::vector<sg4::LinkInRoute> route;
    for (int n = read<int>(); n > 0; --n)
      route.emplace_back(links[read<int>()]);
    if (routed.emplace(transfer.source, transfer.target).second)
      zone->add_route(hosts[transfer.source]->get_netpoint(), hosts[transfer.target]->get_netpoint(), nullptr, nullptr,
                      route, false);
  }
  zone->seal();
  std::vector<double> ends(transfers.size());
  sg4::Actor::create("all", hosts[0], [&] { transfer_all(hosts, transfers, ends); });
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%.9g\n", wall.count());
  for (double end : ends)
    std::printf("%.15g\n", end);
  return 0;
}
