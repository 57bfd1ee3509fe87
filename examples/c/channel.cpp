// A channel of C++17: a producer, two consumers, and a close that wakes all waiting threads.
//
//     mazurka check examples/c/channel.cpp             # verified
//     mazurka check examples/c/channel.cpp -- -DBUG    # violated: a deadlock
//
// With BUG `close` wakes one consumer, and the other waits for ever.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

template <typename T>
class Channel {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<T> items;
    bool closed = false;

  public:
    void send(T item) {
        std::lock_guard guard(mutex);
        items.push_back(std::move(item));
        changed.notify_one();
    }
    void close() {
        std::lock_guard guard(mutex);
        closed = true;
#ifdef BUG
        changed.notify_one();
#else
        changed.notify_all();
#endif
    }
    std::optional<T> receive() {
        std::unique_lock guard(mutex);
        changed.wait(guard, [this] { return closed || !items.empty(); });
        if (items.empty()) return std::nullopt;
        T item = std::move(items.front());
        items.pop_front();
        return item;
    }
};

int main() {
    auto channel = std::make_shared<Channel<std::unique_ptr<int>>>();
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int k = 0; k < 2; k++)
        threads.emplace_back([channel, &sum] {
            while (auto item = channel->receive()) sum.fetch_add(**item);
        });
    channel->send(std::make_unique<int>(7));
    channel->close();
    for (auto &thread : threads) thread.join();
    assert(sum == 7);
    return 0;
}
