# Makes r_models.json: what R says about aliased models, empty cells, term
# order, contrasts, lack of fit and Box-Cox. Needs datasets.json.
suppressMessages({
  library(jsonlite)
  library(car)
})

sets <- fromJSON("datasets.json")
data <- function(name) {
  d <- as.data.frame(sets[[name]], stringsAsFactors = TRUE)
  d
}
digits <- function(x) ifelse(is.na(x), NA, x)

rows <- function(table, columns) {
  lapply(rownames(table), function(term) {
    list(term = gsub(" ", "", term), df = table[term, columns[1]], sum_sq = table[term, columns[2]],
         f = digits(table[term, columns[3]]), p = digits(table[term, columns[4]]))
  })
}

sequential <- function(set, formula, keep = TRUE) {
  d <- data(set)
  terms <- terms(as.formula(formula), keep.order = keep)
  fit <- lm(terms, d)
  list(data = set, formula = formula, kind = "1", by_degree = !keep,
       coefficients = as.list(coef(fit)[!is.na(coef(fit))]),
       aliased = names(coef(fit))[is.na(coef(fit))],
       residual_df = fit$df.residual, r_squared = summary(fit)$r.squared,
       rows = rows(anova(fit), c("Df", "Sum Sq", "F value", "Pr(>F)")))
}

typed <- function(set, formula, type) {
  d <- data(set)
  options(contrasts = c("contr.sum", "contr.poly"))
  fit <- lm(as.formula(formula), d)
  out <- list(data = set, formula = formula, kind = as.character(type), by_degree = TRUE,
              rows = rows(Anova(fit, type = type), c("Df", "Sum Sq", "F value", "Pr(>F)")))
  options(contrasts = c("contr.treatment", "contr.poly"))
  out
}

anovas <- list(
  sequential("unbalanced", "y ~ a:b + a + b"),
  sequential("unbalanced", "y ~ c + a:b + a + b"),
  sequential("unbalanced", "y ~ b + b:c + c + a"),
  sequential("unbalanced", "y ~ c * b * a", keep = FALSE),
  sequential("missing_cell", "y ~ a * b"),
  sequential("missing_cell", "y ~ b * a"),
  sequential("collinear", "y ~ x1 + x2 + x3"),
  sequential("collinear", "y ~ x3 + x1 + x4 + x2"),
  sequential("collinear", "y ~ x1 + x4"),
  sequential("near_singular", "y ~ x1 + x2 + x3"),
  sequential("two_level", "time ~ nodes * batch + rate:epochs"),
  sequential("slopes", "y ~ g/x"),
  sequential("slopes", "y ~ z + g:x + x"),
  typed("unbalanced", "y ~ a * b", 2),
  typed("unbalanced", "y ~ a * b", 3),
  typed("unbalanced", "y ~ a * b * c", 2),
  typed("unbalanced", "y ~ a * b * c", 3),
  typed("slopes", "y ~ g * x + z", 2),
  typed("slopes", "y ~ g * x + z", 3),
  typed("balanced", "y ~ a * b + c", 2),
  typed("balanced", "y ~ a * b + c", 3)
)

lack_of_fit <- function(set, formula, saturated) {
  d <- data(set)
  a <- anova(lm(as.formula(formula), d), lm(as.formula(saturated), d))
  list(data = set, formula = formula, df = a$Df[2], sum_sq = a$`Sum of Sq`[2],
       pure_df = a$Res.Df[2], pure_sum_sq = a$RSS[2], f = a$F[2], p = a$`Pr(>F)`[2])
}
lacks <- list(
  lack_of_fit("curve", "y ~ x", "y ~ factor(x)"),
  lack_of_fit("curve", "y ~ x + I(x^2)", "y ~ factor(x)"),
  lack_of_fit("balanced", "y ~ a + b", "y ~ a * b"),
  lack_of_fit("unbalanced", "y ~ a + b + c", "y ~ a * b * c"),
  lack_of_fit("two_level", "time ~ nodes + batch", "time ~ nodes * batch")
)

box_cox <- function(set, formula) {
  d <- data(set)
  fit <- lm(as.formula(formula), d)
  y <- model.response(model.frame(fit))
  x <- model.matrix(fit)
  n <- length(y)
  loglik <- function(lambda) {
    z <- if (abs(lambda) < 1e-8) log(y) else (y^lambda - 1) / lambda
    rss <- sum(lm.fit(x, z)$residuals^2)
    -n / 2 * log(rss / n) + (lambda - 1) * sum(log(y))
  }
  best <- optimize(loglik, c(-5, 5), maximum = TRUE, tol = 1e-12)
  cut <- function(l) loglik(l) - best$objective + qchisq(0.95, 1) / 2
  list(data = set, formula = formula, lambda = best$maximum, log_likelihood = best$objective,
       lower = uniroot(cut, c(-5, best$maximum), tol = 1e-13)$root,
       upper = uniroot(cut, c(best$maximum, 5), tol = 1e-13)$root)
}
transformations <- list(
  box_cox("curve", "t ~ x"),
  box_cox("slopes", "w ~ g * x"),
  box_cox("slopes", "w ~ x + z"),
  box_cox("two_level", "time ~ nodes + batch + rate + epochs")
)

hypothesis <- function(set, formula, names, weights) {
  d <- data(set)
  fit <- lm(as.formula(formula), d)
  l <- matrix(0, nrow(weights), length(coef(fit)))
  colnames(l) <- names(coef(fit))
  l[, names] <- weights
  h <- linearHypothesis(fit, l)
  first <- l[1, ]
  estimate <- sum(first * coef(fit))
  se <- sqrt(drop(t(first) %*% vcov(fit) %*% first))
  list(data = set, formula = formula, names = names, weights = weights,
       estimate = estimate, se = se, f = h$F[2], df = h$Df[2], p = h$`Pr(>F)`[2])
}
contrasts <- list(
  hypothesis("unbalanced", "y ~ a + b", c("aa2", "aa3"), rbind(c(1, -1))),
  hypothesis("unbalanced", "y ~ a + b + c", c("cc2", "cc3", "cc4"), rbind(c(1, 1, -2), c(1, -1, 0))),
  hypothesis("slopes", "y ~ g * x", c("gred:x", "ggreen:x"), rbind(c(1, 0), c(0, 1))),
  hypothesis("two_level", "time ~ nodes + batch + rate", c("nodes", "batch"), rbind(c(1, 0.5)))
)

out <- list(
  versions = list(R = R.version.string, car = as.character(packageVersion("car"))),
  anovas = anovas, lack_of_fit = lacks, box_cox = transformations, contrasts = contrasts
)
writeLines(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = FALSE, na = "null"), "r_models.json")
