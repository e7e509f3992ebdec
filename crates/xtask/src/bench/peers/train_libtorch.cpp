// Training steps with PyTorch's C++ library, which spares Python's part of a
// step: `train_libtorch SECONDS THREADS IMAGES LABELS`, as JSON lines. IMAGES
// and LABELS are MNIST's training files without their compression.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
}

static torch::Tensor idx(const char *path, size_t header) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    TORCH_CHECK(bytes.size() > header, "cannot read ", path);
    auto count = static_cast<int64_t>(bytes.size() - header);
    return torch::from_blob(bytes.data() + header, {count}, torch::kUInt8).clone();
}

static torch::nn::Sequential dense(const std::vector<int64_t> &sizes) {
    torch::nn::Sequential net;
    for (size_t at = 0; at + 1 < sizes.size(); at++) {
        if (at > 0) net->push_back(torch::nn::ReLU());
        net->push_back(torch::nn::Linear(sizes[at], sizes[at + 1]));
    }
    return net;
}

struct LeNet : torch::nn::Module {
    torch::nn::Conv2d first{torch::nn::Conv2dOptions(1, 6, 5).padding(2)};
    torch::nn::Conv2d second{torch::nn::Conv2dOptions(6, 16, 5)};
    torch::nn::Sequential head = dense({400, 120, 84, 10});

    LeNet() {
        register_module("first", first);
        register_module("second", second);
        register_module("head", head);
    }

    torch::Tensor forward(torch::Tensor x) {
        x = torch::max_pool2d(torch::relu(first(x.view({-1, 1, 28, 28}))), 2);
        x = torch::max_pool2d(torch::relu(second(x)), 2);
        return head->forward(x.flatten(1));
    }
};

// Rows a second: the median over blocks of a tenth of a second.
static double rate(const std::function<void()> &step, double rows, double seconds) {
    auto begun = Clock::now();
    int calls = 0;
    for (; calls < 3 || since(begun) < 0.3; calls++) step();
    calls = std::max(1, static_cast<int>(0.1 * calls / since(begun)));
    std::vector<double> rates;
    begun = Clock::now();
    while (rates.size() < 3 || since(begun) < seconds) {
        auto start = Clock::now();
        for (int call = 0; call < calls; call++) step();
        rates.push_back(calls * rows / since(start));
    }
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

int main(int count, char **words) {
    TORCH_CHECK(count == 5, "usage: train_libtorch SECONDS THREADS IMAGES LABELS");
    double seconds = std::stod(words[1]);
    torch::set_num_threads(std::stoi(words[2]));
    torch::manual_seed(1);
    auto values = idx(words[3], 16).view({-1, 784}).to(torch::kFloat32).div_(255);
    auto labels = idx(words[4], 8).to(torch::kInt64);
    std::printf("{\"peer\": \"PyTorch %s\"}\n", TORCH_VERSION);

    auto measure = [&](const char *task, int64_t batch, std::vector<torch::Tensor> parameters,
                       const std::function<torch::Tensor(torch::Tensor)> &forward) {
        torch::optim::SGD optimizer(std::move(parameters), 0.01);
        auto total = torch::zeros({});
        torch::Tensor order;
        int64_t place = values.size(0);
        auto step = [&] {
            if (place + batch > values.size(0)) {
                order = torch::randperm(values.size(0));
                place = 0;
            }
            auto chosen = order.narrow(0, place, batch);
            place += batch;
            auto answers = forward(values.index_select(0, chosen));
            auto loss = torch::nn::functional::cross_entropy(answers, labels.index_select(0, chosen));
            optimizer.zero_grad();
            loss.backward();
            optimizer.step();
            total.add_(loss.detach());
        };
        std::printf("{\"task\": \"%s\", \"variant\": \"C++\", \"rows_per_s\": %f}\n", task,
                    rate(step, static_cast<double>(batch), seconds));
        std::fflush(stdout);
    };
    struct Stack {
        const char *task;
        std::vector<int64_t> sizes;
    };
    for (const auto &[task, sizes] : {Stack{"softmax", {784, 10}}, Stack{"mlp-128", {784, 128, 10}},
                                      Stack{"mlp-128-128", {784, 128, 128, 10}}}) {
        auto net = dense(sizes);
        measure(task, 128, net->parameters(), [&](torch::Tensor x) { return net->forward(x); });
    }
    LeNet lenet;
    measure("lenet5", 64, lenet.parameters(), [&](torch::Tensor x) { return lenet.forward(x); });
}
