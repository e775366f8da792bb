// Times Pinocchio's recursions on one model: ./pinocchio robot.txt
// Prints a line "name nanoseconds" for each, the best of many passes over the same random states.
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using Vector = Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

struct State {
    Vector q, v, x;
};

template <class Call>
static void report(const char *name, const std::vector<State> &states, Call call)
{
    double best = 1e30;
    const auto end = Clock::now() + std::chrono::milliseconds(400);
    while (Clock::now() < end) {
        const auto start = Clock::now();
        for (const State &s : states) call(s);
        const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
        best = std::min(best, passed.count() / double(states.size()));
    }
    std::printf("%s %.1f\n", name, best);
}

int main(int count, char **arguments)
{
    if (count != 2) return std::fprintf(stderr, "usage: pinocchio robot.txt\n"), 2;
    pinocchio::Model model;
    model.loadFromText(arguments[1]);
    pinocchio::Data data(model);
    const Vector one = Vector::Ones(model.nq);
    std::vector<State> states(1024);
    for (State &s : states)
        s = {pinocchio::randomConfiguration(model, -one, one), Vector::Random(model.nv), Vector::Random(model.nv)};
    using pinocchio::Convention;
    report("rnea", states, [&](const State &s) { pinocchio::rnea(model, data, s.q, s.v, s.x); });
    report("crba", states, [&](const State &s) { pinocchio::crba(model, data, s.q, Convention::LOCAL); });
    report("crba", states, [&](const State &s) { pinocchio::crba(model, data, s.q, Convention::WORLD); });
    report("aba", states, [&](const State &s) { pinocchio::aba(model, data, s.q, s.v, s.x, Convention::LOCAL); });
    report("aba", states, [&](const State &s) { pinocchio::aba(model, data, s.q, s.v, s.x, Convention::WORLD); });
    report("drnea", states, [&](const State &s) { pinocchio::computeRNEADerivatives(model, data, s.q, s.v, s.x); });
    report("daba", states, [&](const State &s) { pinocchio::computeABADerivatives(model, data, s.q, s.v, s.x); });
}
