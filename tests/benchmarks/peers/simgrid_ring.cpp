// Ring all-reduce, message by message, on SimGrid: the peer of the benchmark `ring-128`.
//
// Reads from standard input: number of workers, steps, bytes of a message, latency of a link in seconds; then for each
// worker its compute time in seconds and the rate of its link in bytes per second. Writes one line: simulated seconds,
// and the wall-clock seconds of the run without the making of the platform.
//
// The model is that of hetsim: CM02 with bandwidth and latency factors of 1, no window limit, no cross traffic, and
// network/optim:Full, since the lazy update of shares is not exact. CM02 weighs shares by 1/latency, so all links have
// the same latency. A mailbox with a receiver starts a message when it is sent, and not when it is received.
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

void worker(int rank, int n, int n_steps, double n_bytes, double compute_s)
{
  auto* mine = sg4::Mailbox::by_name("worker-" + std::to_string(rank));
  auto* next = sg4::Mailbox::by_name("worker-" + std::to_string((rank + 1) % n));
  static char payload; // what is sent does not matter, but it must not be null
  for (int step = 0; step < n_steps; ++step) {
    sg4::this_actor::sleep_for(compute_s);
    for (int round = 0; round < 2 * (n - 1); ++round) {
      auto sent = next->put_async(&payload, static_cast<uint64_t>(n_bytes));
      mine->get<char>();
      sent->wait();
    }
  }
}

} // namespace

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/optim:Full");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("network/latency-factor:1");
  sg4::Engine::set_config("network/weight-S:0");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");

  int n, n_steps;
  double n_bytes, latency_s;
  std::cin >> n >> n_steps >> n_bytes >> latency_s;
  std::vector<double> compute_s(n), rate(n);
  for (int i = 0; i < n; ++i)
    std::cin >> compute_s[i] >> rate[i];
  if (not std::cin) {
    std::fputs("the input ends early\n", stderr);
    return 1;
  }

  auto* zone = sg4::create_star_zone("star");
  std::vector<sg4::Host*> hosts;
  for (int i = 0; i < n; ++i) {
    auto* host = zone->create_host("h" + std::to_string(i), 1e9)->seal();
    auto* link = zone->create_split_duplex_link("l" + std::to_string(i), rate[i])->set_latency(latency_s)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg4::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  for (int i = 0; i < n; ++i) {
    auto actor = sg4::Actor::create("worker-" + std::to_string(i), hosts[i], worker, i, n, n_steps, n_bytes, compute_s[i]);
    sg4::Mailbox::by_name("worker-" + std::to_string(i))->set_receiver(actor);
  }
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%.15g %.9g\n", sg4::Engine::get_clock(), wall.count());
  return 0;
}
