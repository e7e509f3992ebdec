# Makes margins.json: what emmeans and sandwich arithmetic say about adjusted
# means, pairs of them, slopes averaged over the data, and errors that allow for
# unequal spread. Needs datasets.json.
suppressMessages({
  library(jsonlite)
  library(emmeans)
})

sets <- fromJSON("datasets.json")
sets$simpson <- list(
  a = c(rep("x", 8), rep("y", 6), rep("z", 8)),
  b = c(rep("low", 7), "high", rep("low", 3), rep("high", 3), "low", rep("high", 7)),
  y = c(101.2, 99.1, 100.4, 98.7, 102.3, 100.9, 99.6, 199.8, 98.2, 97.1, 99.4, 198.3, 196.9, 197.7,
        81.1, 180.4, 178.9, 181.3, 180.8, 179.6, 182.2, 178.1))
sets$tempconc <- local({
  temp <- rep(c(20, 40, 60, 80), times = 5)
  conc <- rep(c(10, 15, 20, 25, 30), each = 4)
  noise <- c(0.6, -1.1, 0.4, 0.9, -0.7, 1.3, -0.2, -0.9, 0.8, 0.1, -1.4, 0.5, 1.0, -0.6, -0.3, 0.7,
             -0.8, 0.2, 1.1, -1.2)
  list(temp = temp, conc = conc, y = 50 + 2 * (temp - 50) + 0.17 * (temp - 50) * (conc - 20) + noise)
})
sets$scaling <- local({
  workers <- rep(c(1, 2, 4, 8, 16), each = 3)
  cpu <- rep(c(1, 2, 3), times = 5)
  noise <- c(0.02, -0.03, 0.01, -0.01, 0.04, -0.02, 0.03, -0.05, 0.01, 0.02, -0.01, -0.02, 0.05, -0.03, -0.01)
  list(workers = workers, cpu = cpu,
       time = exp(4 - 0.8 * log(workers) + 0.3 * cpu + noise))
})
data <- function(name) as.data.frame(sets[[name]], stringsAsFactors = TRUE)

number <- function(x) ifelse(is.finite(x), x, NA)

mean_case <- function(set, formula, factors) {
  fit <- lm(as.formula(formula), data(set))
  s <- as.data.frame(summary(emmeans(fit, factors), infer = c(TRUE, FALSE)))
  list(data = set, formula = formula, factors = I(factors),
       cells = lapply(seq_len(nrow(s)), function(i) list(
         values = I(vapply(factors, function(f) as.character(s[i, f]), "")),
         mean = number(s$emmean[i]), se = number(s$SE[i]),
         lower = number(s$lower.CL[i]), upper = number(s$upper.CL[i]))))
}

pair_case <- function(set, formula, factor) {
  fit <- lm(as.formula(formula), data(set))
  e <- emmeans(fit, factor)
  p <- as.data.frame(summary(pairs(e, adjust = "tukey"), infer = c(TRUE, TRUE)))
  levels <- as.character(as.data.frame(e)[[factor]])
  pair <- combn(length(levels), 2)
  list(data = set, formula = formula, factor = factor,
       pairs = lapply(seq_len(nrow(p)), function(i) list(
         first = levels[pair[1, i]], second = levels[pair[2, i]],
         # emmeans takes the first minus the second; here it is the reverse.
         difference = -p$estimate[i], lower = -p$upper.CL[i], upper = -p$lower.CL[i],
         p = p$p.value[i])))
}

# The slope averaged over the rows: the mean of the derivative of the fit.
slope_case <- function(set, formula, variable, at = list()) {
  d <- data(set)
  fit <- lm(as.formula(formula), d)
  d2 <- d
  for (name in names(at)) {
    d2[[name]] <- if (is.factor(d[[name]])) factor(at[[name]], levels = levels(d[[name]])) else at[[name]]
  }
  frame <- function(shift) {
    e <- d2
    e[[variable]] <- e[[variable]] + shift
    model.matrix(delete.response(terms(fit)), e, contrasts.arg = fit$contrasts, xlev = fit$xlevels)
  }
  # The models are linear in the variable, so any step gives the derivative.
  weights <- colMeans(frame(1) - frame(0))
  estimate <- sum(weights * coef(fit))
  se <- sqrt(drop(t(weights) %*% vcov(fit) %*% weights))
  df <- fit$df.residual
  list(data = set, formula = formula, variable = variable, at = at, estimate = estimate, se = se,
       p = 2 * pt(-abs(estimate / se), df),
       lower = estimate - qt(0.975, df) * se, upper = estimate + qt(0.975, df) * se)
}

# HC3: X (X'X)^-1 X' diag(e^2 / (1 - h)^2) X (X'X)^-1.
hc3_case <- function(set, formula, factor) {
  fit <- lm(as.formula(formula), data(set))
  x <- model.matrix(fit)
  bread <- solve(crossprod(x))
  h <- hatvalues(fit)
  meat <- crossprod(x * (residuals(fit) / (1 - h)))
  v <- bread %*% meat %*% bread
  s <- as.data.frame(summary(emmeans(fit, factor, vcov. = v), infer = c(TRUE, FALSE)))
  list(data = set, formula = formula, factor = factor,
       cells = lapply(seq_len(nrow(s)), function(i) list(
         values = I(as.character(s[i, factor])), mean = s$emmean[i], se = s$SE[i],
         lower = s$lower.CL[i], upper = s$upper.CL[i])))
}

squares_case <- function(set, formula, wider) {
  d <- data(set)
  a <- anova(lm(as.formula(formula), d), lm(as.formula(wider), d))
  list(data = set, formula = formula, f = a$F[2], df = a$Df[2], p = a$`Pr(>F)`[2])
}

out <- list(
  versions = list(R = R.version.string, emmeans = as.character(packageVersion("emmeans"))),
  datasets = sets[c("simpson", "tempconc", "scaling")],
  means = list(
    mean_case("simpson", "y ~ a + b", "a"),
    mean_case("simpson", "y ~ a * b", "a"),
    mean_case("unbalanced", "y ~ a + b + c", "a"),
    mean_case("unbalanced", "y ~ a * b + c", "b"),
    mean_case("unbalanced", "y ~ a * b + c", c("a", "b")),
    mean_case("slopes", "y ~ g * x + z", "g"),
    mean_case("slopes", "y ~ g + x + I(x^2)", "g"),
    mean_case("missing_cell", "y ~ a + b", "a"),
    mean_case("missing_cell", "y ~ a * b", "a"),
    mean_case("two_level", "time ~ nodes * batch + rate", "nodes")
  ),
  pairs = list(
    pair_case("simpson", "y ~ a + b", "a"),
    pair_case("unbalanced", "y ~ a", "a"),
    pair_case("unbalanced", "y ~ a + b + c", "c"),
    pair_case("unbalanced", "y ~ a * b", "a")
  ),
  slopes = list(
    slope_case("tempconc", "y ~ temp * conc", "temp"),
    slope_case("tempconc", "y ~ temp * conc", "temp", list(conc = 10)),
    slope_case("tempconc", "y ~ temp * conc", "temp", list(conc = 30)),
    slope_case("slopes", "y ~ g * x + z", "x"),
    slope_case("slopes", "y ~ g * x * z", "x"),
    slope_case("slopes", "y ~ g * x * z", "z"),
    slope_case("scaling", "log(time) ~ log(workers) + cpu", "cpu")
  ),
  robust = list(
    hc3_case("unbalanced", "y ~ a + b + c", "a"),
    hc3_case("simpson", "y ~ a + b", "a")
  ),
  squares = list(
    squares_case("tempconc", "y ~ temp + conc", "y ~ temp + conc + I(temp^2) + I(conc^2)"),
    squares_case("curve", "y ~ x", "y ~ x + I(x^2)")
  )
)
writeLines(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = FALSE, na = "null"), "margins.json")
