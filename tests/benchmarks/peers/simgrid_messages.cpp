// The messages of a plan on SimGrid: the peer of the benchmarks `ring-128` and `two-level-512`.
//
// Reads from standard input, each list after the number of its entries: links (bytes per second, seconds of latency),
// ways (source and target actor, list of links), and for each actor a list of operations in their order:
//   c seconds      compute
//   s way bytes    send the next message of a way, and go on
//   w way          wait until the message sent last on a way has arrived
//   r way          wait until the next message of a way has arrived
// Writes one line: simulated seconds, and the wall-clock seconds of the run without the reading and the making of the
// platform.
//
// The model is that of hetsim: CM02 with bandwidth and latency factors of 1, no window limit, no cross traffic. Where
// messages share links it is exact with --cfg=network/optim:Full only: both the lazy update of shares, the default, and
// the selective one miss some. CM02 weighs shares by 1/latency, so all ways must have the same latency. A mailbox with a
// receiver starts a message when it is sent, and not when it is received.
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Way {
  int source, target;
  std::vector<sg4::LinkInRoute> links;
  sg4::Mailbox* mailbox;
  sg4::CommPtr sent;
};

struct Operation {
  char kind;
  int way;
  double amount;
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

Operation read_operation()
{
  const char kind = read<char>();
  const int way = kind == 'c' ? -1 : read<int>();
  return {kind, way, kind == 'c' || kind == 's' ? read<double>() : 0.0};
}

void act(const std::vector<Operation>& operations, std::vector<Way>& ways)
{
  static char payload; // what is sent does not matter, but it must not be null
  for (const auto& [kind, way, amount] : operations) {
    if (kind == 'c')
      sg4::this_actor::sleep_for(amount);
    else if (kind == 's')
      ways[way].sent = ways[way].mailbox->put_async(&payload, static_cast<uint64_t>(amount));
    else if (kind == 'w')
      ways[way].sent->wait();
    else
      ways[way].mailbox->get<char>();
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
  std::vector<sg4::Link*> links(read<int>());
  for (size_t i = 0; i < links.size(); ++i) {
    links[i] = zone->create_link("l" + std::to_string(i), read<double>());
    links[i]->set_latency(read<double>())->seal();
  }
  std::vector<Way> ways(read<int>());
  for (size_t i = 0; i < ways.size(); ++i) {
    ways[i].source = read<int>();
    ways[i].target = read<int>();
    for (int n = read<int>(); n > 0; --n)
      ways[i].links.emplace_back(links[read<int>()]);
    ways[i].mailbox = sg4::Mailbox::by_name("w" + std::to_string(i));
  }
  std::vector<std::vector<Operation>> operations(read<int>());
  std::vector<sg4::Host*> hosts;
  for (auto& list : operations) {
    hosts.push_back(zone->create_host("h" + std::to_string(hosts.size()), 1e9)->seal());
    for (int n = read<int>(); n > 0; --n)
      list.push_back(read_operation());
  }
  for (const auto& way : ways)
    zone->add_route(hosts[way.source]->get_netpoint(), hosts[way.target]->get_netpoint(), nullptr, nullptr, way.links,
                    false);
  zone->seal();
  std::vector<sg4::ActorPtr> actors;
  for (size_t i = 0; i < hosts.size(); ++i)
    actors.push_back(sg4::Actor::create("a" + std::to_string(i), hosts[i], act, operations[i], std::ref(ways)));
  for (const auto& way : ways)
    way.mailbox->set_receiver(actors[way.target]);
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%.15g %.9g\n", sg4::Engine::get_clock(), wall.count());
  return 0;
}
